package redlock

import (
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/redlock-go/redlock/clock"
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

// WithTTL sets the time to live of the lock's keys: how long the lock outlives a holder that died. Default 10 s. With a
// shorter TTL the lock of a dead holder is free sooner, and a lock is lost sooner when the masters cannot be reached to
// extend it. The TTL must be longer than the drift budget and one node timeout together. It must not exceed
// [WithMaxTTL], which is by default the TTL that Open or New was given. At most 30 days. It is rounded down to a whole
// number of milliseconds.
func WithTTL(d time.Duration) LockOption {
	return lockOption(func(c *config) { c.terms.TTL = d })
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
	return lockOption(func(c *config) { c.terms.MaxHold = d })
}

// WithMinHold makes the name stay taken until d plus its drift after the lock was acquired, even if it is unlocked
// before. So with [Locker.TryLock], a job that runs once per period on many machines runs once, even if it ends early
// and the machines' clocks differ by less than d. Until then the masters keep the name under another token, which
// begins with "min-hold:", and a release message makes waiters look at the new TTL; [HeldError].Retry says when the
// time ends. Retry is 0 after a TryLock of a mutex on one name without fencing, since a plain SET NX PX does not report
// the TTL. After the Unlock the masters keep the name by their own clocks, even if the Locker is closed or the process
// ends. Closing the Locker counts as an Unlock. Default 0: the name is free after the Unlock. At most 30 days.
//
// A lock that was lost, or whose process died, does not keep the name: the name is free at the end of the TTL, or at
// the Unlock, so the job can run again. If an Unlock returns [ErrNoQuorum], the masters that it did not reach keep the
// name until the TTL ends.
//
// A master that executes the Unlock late may keep the name for up to the minimum hold longer.
//
// The owner of a reentrant lock may lock again during the minimum hold, and readers may share the name with a reader's;
// everybody else is kept out.
//
// d may be longer than the TTL, but not than [WithMaxTTL]: a master that restarted without the name would grant it
// again. With [WithMaxHold], d must not exceed the maximum hold.
func WithMinHold(d time.Duration) LockOption {
	return lockOption(func(c *config) { c.minHold = d })
}

// WithoutHandOver makes every Unlock release the lock on the masters, and every Lock acquire it there.
//
// By default an Unlock may hand a mutex or a permit over to the next caller that waits in this Locker, without a
// request to the masters. The next lock has the same token then. The Locker never does so for a lock with fencing, a
// maximum hold or a minimum hold. The Locker keeps the name for its own callers in this way for up to 20 ms, or four
// times the time that the masters took to grant it if that is longer, but at most an eighth of the TTL. Then other
// processes get their turn.
//
// With WithoutHandOver, or where a mutex cannot be handed over, the Locker still prefers its own callers: while one of
// them waits, it does not publish the release, so that this caller asks the masters before other processes do. The same
// time limit applies. There is no such preference for a mutex with a minimum hold, a reader, a writer, a reentrant lock
// or a permit: their releases are published at once.
func WithoutHandOver() LockOption {
	return lockOption(func(c *config) { c.handOver = false })
}

// WithFencing gives the lock a fencing token, [Lock.Fence]: a number that grows from one holder of a name to the next.
// A storage that has seen a token refuses writes with a smaller one. Default off: an acquisition is then one plain
// SET NX PX. With fencing it is a script, and takes a second round trip if the masters' counters differ.
func WithFencing() LockOption {
	return lockOption(func(c *config) { c.terms.Fencing = true })
}

// WithRetry sets the bounds of the jittered backoff between two attempts of a waiting [Locker.Lock]. A release message
// ends the backoff early. Callers that wait for one lock in one Locker follow the bounds of the first of them. Default
// 10 ms and 1 s. Other clients send no such messages: with a lower maximum, Lock notices their releases sooner, and
// asks the masters more often. Each bound is at most an hour.
func WithRetry(least, most time.Duration) LockOption {
	return lockOption(func(c *config) { c.retryMin, c.retryMax = least, most })
}

// WithNodeTimeout sets how long one master may take over one operation. Default: a twentieth of the TTL, at least 50 ms
// and at most 500 ms. It bounds how long a silent master can delay a caller, and must exceed the round trip to the
// slowest master whose vote is wanted. At most an hour. A master that must be connected to has a second more, or two
// and a half node timeouts if that is longer, but at most half of the validity. Connecting then continues in the
// background.
func WithNodeTimeout(d time.Duration) Option {
	return option(func(c *config) { c.nodeTimeout = d; c.nodeTimeoutSet = true })
}

// WithDrift sets the drift budget, factor × TTL + least, which is subtracted from every validity. It bounds how far the
// clocks of this client and of the masters may diverge during one TTL. least also covers that masters expire keys to
// the millisecond: a hold of any kind but the mutex may end up to 1 ms early by the master's clock. So least should be
// at least 1 ms. Default 0.01 and 2 ms. factor is at least 0 and below 1; least is at least 0 and at most an hour.
func WithDrift(factor float64, least time.Duration) Option {
	return option(func(c *config) { c.drift = clock.Drift{Factor: factor, Least: least} })
}

// WithMaxTTL sets the longest TTL or minimum hold of any client on these masters. A call may have a TTL or minimum hold
// up to d; a longer one is an error, except with [WithoutRestartGuard]. Default: the larger of this Locker's own two.
// Give every client of the masters the same d. At most 30 days.
//
// A master that came back empty after a restart would grant again what it had granted before. So it may not vote for d
// plus the drift budget of d, the restart window. The larger d, the longer a restarted master is without a vote.
func WithMaxTTL(d time.Duration) Option {
	return option(func(c *config) { c.maxTTL = d; c.maxTTLSet = true })
}

// WithoutRestartGuard counts the votes of masters that just restarted. By default they count after the restart window
// ([WithMaxTTL]). If a master loses data in a restart, two clients can then hold one lock. The option is for masters
// that sync every write to disk before they answer (AOF with appendfsync always and no-appendfsync-on-rewrite no), and
// for those that refuse the INFO command.
func WithoutRestartGuard() Option {
	return option(func(c *config) { c.guard = false })
}

// WithOwner sets the readable part of every token, which [Locker.Inspect] and redlock status show. Default host:pid.
// It must not be empty, contain control characters, be longer than 1,024 bytes, or begin with "min-hold:". It has no
// effect on locking: tokens are unique with any owner.
func WithOwner(s string) Option {
	return option(func(c *config) { c.owner = s })
}

// WithLogger sets the logger for events in the background: lost locks; locks that could not be extended yet; masters
// that stop answering, refuse releases, are not asked for locks, or wake no waiters; two masters that are one server;
// releases that could not be confirmed; calls that wait because no majority answers. By default only the last goes to
// slog.Default(), and the others are discarded. docs/errors.md says what to do about each. Passwords are never logged.
// The lines are written in order, by a goroutine that delays no lock if the handler blocks. An event that repeats is
// written up to 20 times a minute.
func WithLogger(l *slog.Logger) Option {
	return option(func(c *config) { c.logger, c.loggerSet = l, true })
}

// WithTrace sets the hooks that the Locker calls. Default nil: it calls none.
func WithTrace(t *Trace) Option {
	return option(func(c *config) { c.trace = t })
}

// WithClock sets the clock of the Locker and of the masters that [Open] makes. Default: the system's. It is for tests.
// Masters passed to [New] keep the clock that they were made with.
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
