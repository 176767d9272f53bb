package integration_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/need"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// A peer is another client's lock, as its users call it. One name is held once at a time.
type peer interface {
	// tryLock takes a name that is free. value is what the masters hold then.
	tryLock(t *testing.T, name string, ttl time.Duration) (value string, taken bool)
	// extend gives what tryLock took a further TTL; false if it is no longer there.
	extend(t *testing.T, name string) bool
	// unlock gives back what tryLock took; false if it is no longer there.
	unlock(t *testing.T, name string) bool
}

// peers are the clients that redlock is tested with, each with the masters that it can use.
var peers = []struct {
	name    string
	masters int
	open    func(t *testing.T, masters []*redisproc.Server) peer
}{
	{"redsync over five", 5, openRedsync()},
	{"redsync over one", 1, openRedsync()},
	{"redsync over five, WithSetNXOnExtend", 5, openRedsync(redsync.WithSetNXOnExtend())},
	{"redis-py over one", 1, openRedisPy},
	{"bsm/redislock over one", 1, openRedislock},
}

// withPeers runs a test with each peer, over masters of its own.
func withPeers(t *testing.T, test func(t *testing.T, p peer, masters []*redisproc.Server)) {
	for _, one := range peers {
		t.Run(one.name, func(t *testing.T) {
			masters := redisproc.ForTest(t, one.masters) // nothing is done to them, so processes serve as well as containers
			test(t, one.open(t, masters), masters)
		})
	}
}

// client is a plain client of a server, closed with the test.
func client(t *testing.T, s *redisproc.Server) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

type redsyncPeer struct {
	sync    *redsync.Redsync
	options []redsync.Option
	held    map[string]*redsync.Mutex
}

func openRedsync(options ...redsync.Option) func(*testing.T, []*redisproc.Server) peer {
	return func(t *testing.T, masters []*redisproc.Server) peer {
		t.Helper()
		var pools []redsyncredis.Pool
		for _, m := range masters {
			pools = append(pools, goredis.NewPool(client(t, m)))
		}
		return &redsyncPeer{redsync.New(pools...), options, make(map[string]*redsync.Mutex)}
	}
}

func (p *redsyncPeer) mutex(name string, options ...redsync.Option) *redsync.Mutex {
	return p.sync.NewMutex(name, append(options, p.options...)...)
}

func (p *redsyncPeer) tryLock(t *testing.T, name string, ttl time.Duration) (string, bool) {
	t.Helper()
	m := p.mutex(name, redsync.WithExpiry(ttl), redsync.WithTimeoutFactor(factor(ttl)))
	if err := m.TryLockContext(t.Context()); err != nil {
		require.NotErrorAs(t, err, new(*redsync.RedisError), "a master did not answer")
		return "", false
	}
	p.held[name] = m
	return m.Value(), true
}

func (p *redsyncPeer) extend(t *testing.T, name string) bool {
	t.Helper()
	ok, _ := p.held[name].ExtendContext(t.Context())
	return ok
}

func (p *redsyncPeer) unlock(t *testing.T, name string) bool {
	t.Helper()
	ok, _ := p.held[name].UnlockContext(t.Context())
	delete(p.held, name)
	return ok
}

// factor makes redsync as patient with a master as our own Lockers are here, however short the TTL.
func factor(ttl time.Duration) float64 { return float64(nodeTimeout) / float64(ttl) }

type redislockPeer struct {
	locker  *redislock.Client
	options *redislock.Options
	held    map[string]*redislock.Lock
	ttl     time.Duration
}

func openRedislock(t *testing.T, masters []*redisproc.Server) peer {
	t.Helper()
	return &redislockPeer{locker: redislock.New(client(t, masters[0])), held: make(map[string]*redislock.Lock)}
}

func (p *redislockPeer) tryLock(t *testing.T, name string, ttl time.Duration) (string, bool) {
	t.Helper()
	l, err := p.locker.Obtain(t.Context(), name, ttl, p.options)
	if err != nil {
		// Of a key that is no string it says WRONGTYPE. That is no lock either.
		if !errors.Is(err, redislock.ErrNotObtained) {
			require.ErrorContains(t, err, "WRONGTYPE")
		}
		return "", false
	}
	p.held[name], p.ttl = l, ttl
	return l.Token(), true
}

func (p *redislockPeer) extend(t *testing.T, name string) bool {
	t.Helper()
	return p.held[name].Refresh(t.Context(), p.ttl, nil) == nil
}

func (p *redislockPeer) unlock(t *testing.T, name string) bool {
	t.Helper()
	err := p.held[name].Release(t.Context())
	delete(p.held, name)
	return err == nil
}

// number is a counter in a place that takes no care of itself. Two who add to it at once are seen, and may lose a
// count.
type number struct{ redis *redis.Client }

func newNumber(t *testing.T) number {
	t.Helper()
	return number{client(t, redisproc.ForTest(t, 1)[0])}
}

var errOverlap = errors.New("two at once")

func (n number) add(ctx context.Context, who string) error {
	alone, err := n.redis.SetNX(ctx, "inside", who, 0).Result()
	if err != nil {
		return err
	}
	if !alone {
		return fmt.Errorf("%w: %s came in while another was", errOverlap, who)
	}
	if err := n.redis.RPush(ctx, "order", who).Err(); err != nil {
		return err
	}
	was, err := n.redis.Get(ctx, "number").Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	time.Sleep(2 * time.Millisecond) // the work
	if err := n.redis.Set(ctx, "number", was+1, 0).Err(); err != nil {
		return err
	}
	return n.redis.Del(ctx, "inside").Err()
}

// rest gives those who poll a chance: who takes the lock again at once mostly gets it.
func rest() { time.Sleep(rand.N(20 * time.Millisecond)) }

// value is the number, and how often it went from one kind of client to another.
func (n number) value(t *testing.T) (value, turns int) {
	t.Helper()
	value, err := n.redis.Get(t.Context(), "number").Int()
	require.NoError(t, err)
	order, err := n.redis.LRange(t.Context(), "order", 0, -1).Result()
	require.NoError(t, err)
	for i := 1; i < len(order); i++ {
		if order[i] != order[i-1] {
			turns++
		}
	}
	return value, turns
}

// redisPy is redis-py's Lock, in a Python process.
type redisPy struct {
	requests *json.Encoder
	answers  *bufio.Scanner
}

// needRedisPy returns a Python that has redis-py. It skips the test if there is none.
func needRedisPy(t *testing.T) (python string) {
	t.Helper()
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(python, "-c", "from redis.lock import Lock").Run() == nil {
			return python
		}
	}
	need.SkipIf(t, need.Redis, errors.New("no python3 has redis-py: apt-get install python3-redis"))
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
}

type pyAnswer struct {
	Done  bool
	Value string
	Error string
}

func (p *redisPy) ask(t *testing.T, request pyRequest) (answer pyAnswer) {
	t.Helper()
	require.NoError(t, p.requests.Encode(request))
	require.True(t, p.answers.Scan(), "no answer: %v", p.answers.Err())
	require.NoError(t, json.Unmarshal(p.answers.Bytes(), &answer))
	require.Empty(t, answer.Error, request.Do)
	return answer
}

func (p *redisPy) tryLock(t *testing.T, name string, ttl time.Duration) (string, bool) {
	t.Helper()
	answer := p.ask(t, pyRequest{Do: "acquire", Name: name, Seconds: ttl.Seconds()})
	return answer.Value, answer.Done
}

func (p *redisPy) extend(t *testing.T, name string) bool {
	t.Helper()
	return p.ask(t, pyRequest{Do: "extend", Name: name}).Done
}

func (p *redisPy) unlock(t *testing.T, name string) bool {
	t.Helper()
	return p.ask(t, pyRequest{Do: "release", Name: name}).Done
}
