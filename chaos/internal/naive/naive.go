// Package naive has flawed locks on Redis in the order of their invention. Each was once published; its comment says
// what is wrong with it and what fixed that. They are controls of the harness, which check that its checkers can fail:
// a checker must catch each of these locks. None of them is for use.
package naive

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/clock"
)

// Control is one naive lock, with the checker that must catch it.
type Control struct {
	Name string
	// Doc describes it in one line.
	Doc string
	// Modes are the modes of locking that it offers.
	Modes []string
	// Checker is the checker that must catch it: "exclusion", "liveness" or "slots".
	Checker string
	// Open opens the lock.
	Open func(locker.Settings) (locker.Locker, error)
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

// client is a client of all masters that the settings name. It connects only to those that it uses.
type client struct {
	locker.Settings
	masters []*redis.Client
}

// dial opens a client that does not retry commands. It fills in defaults of the settings.
func dial(s locker.Settings) (client, error) {
	if s.Clock == nil {
		s.Clock = clock.System
	}
	if s.Timeout == 0 {
		s.Timeout = nodeTimeout
	}
	if s.Between == nil {
		s.Between = func() {}
	}
	c := client{Settings: s}
	for _, u := range s.URLs {
		o, err := redis.ParseURL(u)
		if err != nil {
			return c, errors.Join(err, c.Close())
		}
		o.MaxRetries, o.DialerRetries = -1, 1
		o.DisableIdentity, o.ContextTimeoutEnabled = true, true
		c.masters = append(c.masters, redis.NewClient(o))
	}
	return c, nil
}

func (c client) Close() error {
	var errs []error
	for _, m := range c.masters {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}

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
