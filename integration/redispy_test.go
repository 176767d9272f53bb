package integration_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/redisbox"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// redisPy is redis-py's Lock, in a Python process.
type redisPy struct {
	requests *json.Encoder
	answers  *bufio.Scanner
}

// needRedisPy returns a Python that has redis-py. Where there is none it skips the test with one line; CI, which must
// not skip, asks for a failure as it does of the tests in containers.
func needRedisPy(t *testing.T) (python string) {
	t.Helper()
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(python, "-c", "from redis.lock import Lock").Run() == nil {
			return python
		}
	}
	const missing = "no python3 has redis-py: install it (Debian, Ubuntu: apt-get install python3-redis)"
	if os.Getenv(redisbox.EnvRequire) == "1" {
		t.Fatalf("%s, and %s=1 asks for it", missing, redisbox.EnvRequire)
	}
	t.Skip(missing)
	return ""
}

func openRedisPy(t *testing.T, masters []*redisproc.Server) peer {
	t.Helper()
	python := exec.Command(needRedisPy(t), "testdata/redispy.py", masters[0].URL())
	python.Stderr = os.Stderr
	in, err := python.StdinPipe()
	require.NoError(t, err)
	out, err := python.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, python.Start())
	t.Cleanup(func() {
		assert.NoError(t, in.Close()) // ends it
		assert.NoError(t, python.Wait())
	})
	return &redisPy{json.NewEncoder(in), bufio.NewScanner(out)}
}

// pyRequest and pyAnswer are the lines that testdata/redispy.py reads and writes.
type pyRequest struct {
	Do      string  `json:"do"`
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"` // 0: no timeout, as is redis-py's default
	State   string  `json:"state"`
	Rounds  int     `json:"rounds"`
}

type pyAnswer struct {
	Done     bool
	Value    string
	Overlaps int
	Error    string
}

func (p *redisPy) ask(request pyRequest) (answer pyAnswer, err error) {
	if err := p.requests.Encode(request); err != nil {
		return answer, err
	}
	if !p.answers.Scan() {
		return answer, errors.Join(errors.New("redis-py: no answer"), p.answers.Err())
	}
	if err := json.Unmarshal(p.answers.Bytes(), &answer); err != nil {
		return answer, err
	}
	if answer.Error != "" {
		return answer, fmt.Errorf("redis-py: %s: %s", request.Do, answer.Error)
	}
	return answer, nil
}

func (p *redisPy) tryLock(t *testing.T, name string, ttl time.Duration) (string, bool) {
	t.Helper()
	answer, err := p.ask(pyRequest{Do: "acquire", Name: name, Seconds: ttl.Seconds()})
	require.NoError(t, err)
	return answer.Value, answer.Done
}

func (p *redisPy) extend(t *testing.T, name string) bool {
	t.Helper()
	answer, err := p.ask(pyRequest{Do: "extend", Name: name})
	require.NoError(t, err)
	return answer.Done
}

func (p *redisPy) unlock(t *testing.T, name string) bool {
	t.Helper()
	answer, err := p.ask(pyRequest{Do: "release", Name: name})
	require.NoError(t, err)
	return answer.Done
}

// count is not ended by ctx: the rounds are few, and the locks that they wait for have TTLs.
func (p *redisPy) count(_ context.Context, name string, shared *number, rounds int) error {
	answer, err := p.ask(pyRequest{Do: "count", Name: name, Seconds: long.Seconds(), State: shared.url, Rounds: rounds})
	if err == nil && answer.Overlaps > 0 {
		err = fmt.Errorf("%w: redis-py came in while another was, %d times", errOverlap, answer.Overlaps)
	}
	return err
}
