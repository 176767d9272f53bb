package doctor_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/doctor"
	"github.com/redlock-go/redlock/internal/redisproc"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "doctor-")
	if err != nil {
		panic(err)
	}
	// The tests of huge pages need a host on which they are always used.
	file := filepath.Join(dir, "enabled")
	if err := os.WriteFile(file, []byte("[always] madvise never\n"), 0o600); err != nil {
		panic(err)
	}
	doctor.SetHugePagesFile(file)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		_ = os.RemoveAll(dir)
		os.Exit(status)
	}))
}

const (
	span     = 200 * time.Millisecond // shorter than in production: the tests that need more say so
	patience = 20 * time.Second
)

// open returns a Locker with a node timeout that no round trip on this host exceeds.
func open(t *testing.T, urls []string, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	opts = append([]redlock.Option{redlock.WithTTL(3 * time.Second), redlock.WithNodeTimeout(time.Second)}, opts...)
	l, err := redlock.Open(urls, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

func examine(t *testing.T, urls []string, opts ...redlock.Option) doctor.Report {
	t.Helper()
	report, err := doctor.Examine(t.Context(), open(t, urls, opts...), doctor.WithSpan(span))
	require.NoError(t, err)
	return report
}

// titled returns the findings with a title.
func titled(r doctor.Report, title string) (found []doctor.Finding) {
	for _, f := range r.Findings {
		if f.Title == title {
			found = append(found, f)
		}
	}
	return found
}

func titles(r doctor.Report) []string {
	all := []string{}
	for _, f := range r.Findings {
		all = append(all, f.Title)
	}
	return all
}

// connect returns a client of the server as its default user.
func connect(t *testing.T, s *redisproc.Server) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

// await waits until INFO of the server has a line.
func await(t *testing.T, c *redis.Client, line string) {
	t.Helper()
	require.Eventually(t, func() bool {
		text, err := c.Info(context.Background(), "all").Result()
		return err == nil && hasLine(text, line)
	}, patience, 10*time.Millisecond, "INFO has no line %s", line)
}
