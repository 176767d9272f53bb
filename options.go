package redlock

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strings"
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/names"
	"github.com/redlock-go/redlock/internal/seam"
)

// An Option configures a [Locker]. Every invalid value is an error of [Open] or [New].
type Option interface{ applyTo(*config) }

// A LockOption configures one lock. Passed to [Open] or [New], it is the default for all locks of the Locker.
type LockOption interface {
	Option
	lockOption()
}

type option func(*config)

func (o option) applyTo(c *config) { o(c) }

type lockOption func(*config)

func (o lockOption) applyTo(c *config) { o(c) }
func (o lockOption) lockOption()       {}

// config is everything that options set. The lock options of a call are applied to a copy of the Locker's.
type config struct {
	ttl       time.Duration
	keepalive bool
	handOver  bool
	maxHold   time.Duration
	retryMin  time.Duration
	retryMax  time.Duration
	fencing   bool

	nodeTimeout   time.Duration // 0: a share of the TTL
	drift         clock.Drift
	guard         bool
	restartWindow time.Duration // 0 until validated: then the TTL plus its drift
	owner         string
	logger        *slog.Logger
	trace         *Trace
	clock         clock.Clock
	tls           *tls.Config // not changed; nil: what the URLs say
	scripts       *kind.Scripts
	hooks         seam.Hooks // set by test harnesses only

	nodeTimeoutSet, windowSet, tlsSet bool
}

const (
	defaultTTL  = 10 * time.Second
	minTimeout  = 50 * time.Millisecond
	maxTimeout  = 500 * time.Millisecond
	timeoutPart = 20 // the default node timeout is this part of the TTL
)

func defaults() config {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return config{
		ttl:       defaultTTL,
		keepalive: true,
		handOver:  true,
		retryMin:  10 * time.Millisecond,
		retryMax:  time.Second,
		drift:     clock.DefaultDrift,
		guard:     true,
		owner:     fmt.Sprintf("%s:%d", host, os.Getpid()),
		logger:    slog.New(slog.DiscardHandler),
		clock:     clock.System,
	}
}

// WithTTL sets the time to live of the lock's keys: how long the lock outlives a holder that died. Default 10 s. With a
// shorter TTL the lock of a dead holder is free sooner, and a lock is lost sooner when the masters cannot be reached to
// extend it. The TTL must be longer than the drift budget and one node timeout together, and not longer than the
// restart window or 30 days. It is rounded down to a whole number of milliseconds.
func WithTTL(d time.Duration) LockOption {
	return lockOption(func(c *config) { c.ttl = d })
}

// WithoutKeepalive turns keepalive off: the lock ends at its first [Lock.Until] unless [Lock.Extend] is called. By
// default a lock is extended every third of its TTL until it is unlocked.
func WithoutKeepalive() LockOption {
	return lockOption(func(c *config) { c.keepalive = false })
}

// WithMaxHold caps how long a lock is held, with or without keepalive. The time counts from the start of the attempt
// that acquired the lock. A lock that reaches the cap is lost: the cause of [Lock.Context] matches [ErrLost], and its
// text names the cap. Default 0: no cap. At most 30 days.
func WithMaxHold(d time.Duration) LockOption {
	return lockOption(func(c *config) { c.maxHold = d })
}

// WithoutHandOver makes every Unlock release the lock on the masters, and every Lock acquire it there.
//
// By default an Unlock may hand a mutex over to the next caller that waits in this Locker, without a request to the
// masters. It never does so for a lock with fencing or a maximum hold, or after [Lock.Token] was called. The Locker
// keeps the name for its own callers in this way for up to 50 ms, or four times the time that the masters took to grant
// it if that is longer, but at most an eighth of the TTL. Then other processes get their turn.
//
// With WithoutHandOver, or where a lock cannot be handed over, the Locker still prefers its own callers: it does not
// publish the release, so that they ask the masters before other processes do. It does so for up to 20 ms, or four
// times the time that the masters took, but at most an eighth of the TTL.
func WithoutHandOver() LockOption {
	return lockOption(func(c *config) { c.handOver = false })
}

// WithFencing gives the lock a fencing token, [Lock.Fence]: a number that grows from one holder of a name to the next.
// A storage that has seen a token refuses writes with a smaller one. Default off: an acquisition is then one plain
// SET NX PX. With fencing it is a script, and takes a second round trip if the masters' counters differ.
func WithFencing() LockOption {
	return lockOption(func(c *config) { c.fencing = true })
}

// WithRetry sets the bounds of the jittered backoff between two attempts of a waiting [Locker.Lock]. A release message
// ends the backoff early. Default 10 ms and 1 s. Other clients send no such messages: with a lower maximum, Lock
// notices their releases sooner, and asks the masters more often. Each bound is at most an hour.
func WithRetry(least, most time.Duration) LockOption {
	return lockOption(func(c *config) { c.retryMin, c.retryMax = least, most })
}

// WithNodeTimeout sets how long one master may take over one operation. Default: a twentieth of the TTL, at least
// 50 ms and at most 500 ms. It bounds how long a silent master can delay a caller, and must exceed the round trip to
// the slowest master whose vote is wanted. At most an hour. Making a connection may take longer than the node timeout:
// it continues in the background when the vote is overdue.
func WithNodeTimeout(d time.Duration) Option {
	return option(func(c *config) { c.nodeTimeout = d; c.nodeTimeoutSet = true })
}

// WithDrift sets the drift budget, factor × TTL + least, which is subtracted from every validity. It is how much the
// clocks of this client and of the masters may gain on each other during one TTL. Default 0.01 and 2 ms. factor is at
// least 0 and below 1; least is at least 0 and at most an hour.
func WithDrift(factor float64, least time.Duration) Option {
	return option(func(c *config) { c.drift = clock.Drift{Factor: factor, Least: least} })
}

// WithRestartWindow sets how long a master may not vote after a restart: a master that came back empty would grant
// again what it had granted before. The window must be at least the largest TTL that any client uses on these masters.
// Default: the TTL of this Locker plus its drift budget. At most 60 days.
func WithRestartWindow(d time.Duration) Option {
	return option(func(c *config) { c.restartWindow = d; c.windowSet = true })
}

// WithoutRestartGuard counts the votes of masters that just restarted. If a master loses data in a restart, two clients
// can then hold one lock. The option is for masters that persist every write before they answer (AOF, fsync always),
// and for those that refuse the INFO command.
func WithoutRestartGuard() Option {
	return option(func(c *config) { c.guard = false })
}

// WithOwner sets the readable part of every token, which [Locker.Inspect] and redlock status show. Default host:pid.
// It must not be empty or longer than 1,024 bytes. It has no effect on locking: tokens are unique with any owner.
func WithOwner(s string) Option {
	return option(func(c *config) { c.owner = s })
}

// WithLogger sets the logger for events in the background: lost locks, masters that stop answering, two masters that
// are one server, releases that could not be confirmed. By default they are discarded. Passwords are never logged.
func WithLogger(l *slog.Logger) Option {
	return option(func(c *config) { c.logger = l })
}

// WithTrace sets the hooks that the Locker calls. Default nil.
func WithTrace(t *Trace) Option {
	return option(func(c *config) { c.trace = t })
}

// WithClock sets the clock of the Locker and of the masters that [Open] makes. It is for tests. Masters passed to [New]
// keep the clock that they were made with.
func WithClock(clk clock.Clock) Option {
	return option(func(c *config) { c.clock = clk })
}

// WithTLSConfig sets the TLS configuration of all masters that [Open] makes and whose URL begins with rediss://:
// certificate authorities, a client certificate, a server name. The Locker uses a copy. It takes an empty ServerName
// from each URL, and keeps a skip_verify in a URL. Masters with redis:// or unix:// ignore it, and masters given to
// [New] keep the configuration they were made with ([node.WithTLSConfig]). A nil configuration is an error. Default:
// the system's certificate authorities.
func WithTLSConfig(c *tls.Config) Option {
	c = c.Clone() // Clone of nil is nil
	return option(func(cfg *config) { cfg.tls, cfg.tlsSet = c, true })
}

// timeout returns how long one master may take over one operation.
func (c *config) timeout() time.Duration {
	if c.nodeTimeout > 0 {
		return c.nodeTimeout
	}
	return min(max(c.ttl/timeoutPart, minTimeout), maxTimeout)
}

// window returns how long a restarted master may not vote.
func (c *config) window() time.Duration {
	if !c.guard {
		return 0
	}
	return c.restartWindow
}

// The bounds of the durations. They are far above any useful value. They are also so low that sums of a few of them,
// and small multiples, do not overflow a time.Duration (292 years).
const (
	maxTTL      = 30 * 24 * time.Hour // also for the maximum hold; for the restart window, twice this
	maxNodeWait = time.Hour           // for the node timeout and the constant part of the drift budget
	maxRetry    = time.Hour
)

// above returns an error if a duration is above its bound.
func above(what string, d, bound time.Duration) error {
	if d <= bound {
		return nil
	}
	return fmt.Errorf("redlock: %s %v: it must not be above %v", what, d, bound)
}

func (c *config) driftOf() time.Duration { return c.drift.Of(c.ttl) }

// settle checks the options of Open or New and sets the defaults that depend on others.
func (c *config) settle() error {
	var wrong []string
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if c.nodeTimeoutSet && c.nodeTimeout <= 0 {
		bad("node timeout %v: it must be above 0", c.nodeTimeout)
	}
	if f := c.drift.Factor; f < 0 || f >= 1 || math.IsNaN(f) {
		bad("drift factor %v: it must be at least 0 and below 1", f)
	}
	if c.drift.Least < 0 {
		bad("drift of at least %v: it must not be negative", c.drift.Least)
	}
	if c.windowSet && c.restartWindow <= 0 {
		bad("restart window %v: it must be above 0; WithoutRestartGuard switches the guard off", c.restartWindow)
	}
	if c.owner == "" || strings.ContainsFunc(c.owner, func(r rune) bool { return r < ' ' }) {
		bad("owner %q: it must not be empty or hold control characters", names.Truncate(c.owner))
	}
	if err := names.CheckLength("owner", c.owner, kind.MaxOwner); err != nil {
		bad("%s", plain(err))
	}
	if c.logger == nil {
		bad("logger nil: leave WithLogger out to discard what it would log")
	}
	if c.clock == nil {
		bad("clock nil: leave WithClock out to use the system's")
	}
	if c.tlsSet && c.tls == nil {
		bad("TLS configuration nil: leave WithTLSConfig out to use the system's certificate authorities")
	}
	for _, err := range []error{
		above("node timeout", c.nodeTimeout, maxNodeWait), above("drift of at least", c.drift.Least, maxNodeWait),
		above("restart window", c.restartWindow, 2*maxTTL),
	} {
		if err != nil {
			bad("%s", plain(err))
		}
	}
	if len(wrong) > 0 {
		return errors.New(prefix + strings.Join(wrong, "; "))
	}
	if err := above("TTL", c.ttl, maxTTL); err != nil {
		return err
	}
	if !c.windowSet {
		c.restartWindow = c.ttl + c.driftOf()
	}
	return c.check()
}

// check checks the options that a single lock may set, and rounds the TTL down to whole milliseconds.
func (c *config) check() error {
	for _, err := range []error{
		above("TTL", c.ttl, maxTTL), above("max hold", c.maxHold, maxTTL),
		above("retry from", c.retryMin, maxRetry), above("retry to", c.retryMax, maxRetry),
	} {
		if err != nil {
			return err
		}
	}
	c.ttl = c.ttl.Truncate(time.Millisecond)
	least := c.driftOf() + c.timeout()
	switch {
	case c.ttl <= 0:
		return fmt.Errorf("redlock: TTL %v: it must be at least a millisecond", c.ttl)
	case c.ttl <= least:
		return fmt.Errorf("redlock: TTL %v: it must be above %v, which the drift budget (%v) and one node timeout (%v) "+
			"take off it; use a longer TTL or a shorter node timeout",
			c.ttl, least, c.driftOf(), c.timeout())
	case c.guard && c.ttl > c.restartWindow:
		return fmt.Errorf("redlock: TTL %v is above the restart window of %v: the window must cover the largest TTL "+
			"that any client uses on these masters; raise it with WithRestartWindow",
			c.ttl, c.restartWindow)
	case c.maxHold < 0:
		return fmt.Errorf("redlock: max hold %v: it must not be negative", c.maxHold)
	case c.retryMin <= 0 || c.retryMax < c.retryMin:
		return fmt.Errorf("redlock: retry from %v to %v: the first must be above 0 and not above the second",
			c.retryMin, c.retryMax)
	}
	return nil
}

// with returns a copy with the options of one lock applied and checked.
func (c *config) with(opts []LockOption) (*config, error) {
	if len(opts) == 0 {
		return c, nil
	}
	own := *c
	for _, o := range opts {
		if o == nil {
			return nil, errors.New("redlock: a nil LockOption")
		}
		o.applyTo(&own)
	}
	if err := own.check(); err != nil {
		return nil, err
	}
	return &own, nil
}
