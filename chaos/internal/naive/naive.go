// Package naive has flawed locks on Redis in the order of their invention. Each was once published; its comment says
// what is wrong with it and what fixed that. They are controls of the harness, which check that its checkers can fail:
// a checker must catch each of these locks. None of them is for use.
package naive

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/clock"
)

// Control is one naive lock, with the checker that must catch it.
type Control struct {
	// Name is its name, for [Open].
	Name string
	// Doc describes it in one line.
	Doc string
	// Modes are the modes of locking that it offers.
	Modes []string
	// Checker is the checker that must catch it: "exclusion", "liveness" or "slots".
	Checker string
	// How says under which circumstances the flaw shows.
	How string

	open func(locker.Settings) (locker.Locker, error)
}

// All lists the controls in the order of their invention.
var All = []Control{
	existsSet, setNX, setNXExpire, getSet, plainDel, failover, rwTwoKeys, rwOneHash, reentrantCount, semaphoreCount,
	semaphoreTokens,
}

// Find returns the control of that name.
func Find(name string) (Control, bool) {
	i := slices.IndexFunc(All, func(c Control) bool { return c.Name == name })
	if i < 0 {
		return Control{}, false
	}
	return All[i], true
}

// Open opens the control of that name.
func Open(name string, s locker.Settings) (locker.Locker, error) {
	c, ok := Find(name)
	if !ok {
		return nil, fmt.Errorf("no naive lock is called %q", name)
	}
	return c.open(s)
}

// complete fills in defaults.
func complete(s locker.Settings) locker.Settings {
	if s.Clock == nil {
		s.Clock = clock.System
	}
	if s.Timeout == 0 {
		s.Timeout = nodeTimeout
	}
	if s.Between == nil {
		s.Between = func() {}
	}
	return s
}

// The checkers.
const (
	exclusion = "exclusion"
	liveness  = "liveness"
	slots     = "slots"
)

var (
	mutex   = []string{kinds.Mutex}
	readers = []string{kinds.Reader, kinds.Writer}
	permits = []string{kinds.Semaphore}
)

const (
	pollEvery   = 10 * time.Millisecond
	nodeTimeout = 100 * time.Millisecond
	// forever stands for the TTL of a lock without one.
	forever = 24 * time.Hour
)

// dial opens a client that does not retry commands.
func dial(url string) (*redis.Client, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	o.MaxRetries, o.DialerRetries = -1, 1
	o.DisableIdentity, o.ContextTimeoutEnabled = true, true
	return redis.NewClient(o), nil
}

// one is a client of one master. Every lock on one master embeds it.
type one struct {
	locker.Settings
	client *redis.Client
}

func openOne(s locker.Settings) (one, error) {
	c, err := dial(s.URLs[0])
	return one{complete(s), c}, err
}

func (o one) Close() error { return o.client.Close() }

// token returns a unique random value.
func (o one) token() string { return o.Owner + ":" + rand.Text() }

// wait asks until it is granted, ctx ends or something fails; a request that only tries is asked once.
//
// ask gets a context that does not end, so that it always completes its steps. If it ended between two steps, the
// client would leave the same state as one that died; other tests show that on purpose.
func wait(ctx context.Context, r locker.Request, ask func(context.Context) (bool, error)) error {
	for {
		granted, err := ask(context.WithoutCancel(ctx))
		switch {
		case err != nil:
			return err
		case granted:
			return nil
		case r.Try:
			return locker.ErrHeld
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return errors.Join(locker.ErrHeld, ctx.Err())
		}
	}
}

// claim is one acquisition of a lock on one master.
type claim struct {
	one
	locker.Request
	token string
	begin time.Time // when the master was last asked; the lock ends a TTL later
}

// single is a lock on one master. take asks for it once, and give releases it.
type single struct {
	one
	take func(context.Context, *claim) (bool, error)
	give func(context.Context, *claim) error
}

// onOne returns a function that opens a lock on one master.
func onOne(
	take func(context.Context, *claim) (bool, error), give func(context.Context, *claim) error,
) func(locker.Settings) (locker.Locker, error) {
	return func(s locker.Settings) (locker.Locker, error) {
		o, err := openOne(s)
		return single{o, take, give}, err
	}
}

func (l single) Lock(ctx context.Context, r locker.Request) (locker.Lock, error) {
	c := &claim{one: l.one, Request: r, token: l.token()}
	err := wait(ctx, r, func(ctx context.Context) (bool, error) {
		c.begin = l.Clock.Now()
		return l.take(ctx, c)
	})
	if err != nil {
		return nil, err
	}
	return &hold{c.token, c.begin.Add(c.TTL), func(ctx context.Context) error { return l.give(ctx, c) }}, nil
}

// del releases with DEL, whoever has the key.
func del(ctx context.Context, c *claim) error { return c.client.Del(ctx, c.Name()).Err() }

// hold is a held naive lock. It never notices a loss.
type hold struct {
	token  string
	until  time.Time
	unlock func(context.Context) error
}

func (h *hold) Token() string                    { return h.token }
func (h *hold) Fence() uint64                    { return 0 }
func (h *hold) Until() time.Time                 { return h.until }
func (h *hold) Context() context.Context         { return context.Background() }
func (h *hold) Err() error                       { return nil }
func (h *hold) Unlock(ctx context.Context) error { return h.unlock(ctx) }

func (h *hold) Downgrade(context.Context) error {
	return errors.New("a naive lock cannot be downgraded")
}
