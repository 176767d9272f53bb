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
	"unicode"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/names"
	"github.com/redlock-go/redlock/internal/seam"
	"github.com/redlock-go/redlock/internal/waitqueue"
	"github.com/redlock-go/redlock/quorum"
)

// config is everything that options set. The lock options of a call are applied to a copy of the Locker's.
type config struct {
	keepalive bool
	handOver  bool
	retryMin  time.Duration
	retryMax  time.Duration

	nodeTimeout time.Duration // 0: a share of the TTL
	drift       clock.Drift
	guard       bool
	maxTTL      time.Duration // the longest TTL or minimum hold; 0 until validate sets the larger of the Locker's two
	owner       string
	logger      *slog.Logger
	trace       *Trace
	clock       clock.Clock
	tls         *tls.Config // not changed; nil: what the URLs say
	scripts     *kind.Scripts
	hooks       seam.Hooks // set by test harnesses only

	// terms are those of the leases. Options set TTL, MaxHold and Fencing, and validateLock the others.
	terms   quorum.Terms
	minHold time.Duration // how long the names stay taken after the acquisition

	nodeTimeoutSet, maxTTLSet, tlsSet, loggerSet bool
}

const (
	defaultTTL   = 10 * time.Second
	minTimeout   = 50 * time.Millisecond
	maxTimeout   = 500 * time.Millisecond
	timeoutShare = 20 // the default node timeout is TTL/timeoutShare, within the bounds above
)

func defaults() config {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return config{
		terms:     quorum.Terms{TTL: defaultTTL},
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

// timeout returns how long one master may take over one operation. It, window and driftBudget are for validateLock: all
// others read terms.
func (c *config) timeout() time.Duration {
	if c.nodeTimeout > 0 {
		return c.nodeTimeout
	}
	return min(max(c.terms.TTL/timeoutShare, minTimeout), maxTimeout)
}

// window returns how long a restarted master may not vote: the longest time for which it may have granted a name.
func (c *config) window() time.Duration {
	if !c.guard {
		return 0
	}
	return c.maxTTL + c.drift.Of(c.maxTTL)
}

// enabledLogger returns the logger; nil if its lines are discarded.
func (c *config) enabledLogger() *slog.Logger {
	if c.logger.Handler() == slog.DiscardHandler {
		return nil
	}
	return c.logger
}

// outageLogger returns the logger of the line that calls wait for a majority: by default slog.Default().
func (c *config) outageLogger() *slog.Logger {
	if !c.loggerSet {
		return slog.Default()
	}
	return c.enabledLogger()
}

func (c *config) driftBudget() time.Duration { return c.drift.Of(c.terms.TTL) }

// reusesLease reports whether a lock may be passed to the next waiter of this Locker without the masters. With fencing
// it may not, since the masters must count a new fencing token.
func (c *config) reusesLease() bool {
	return c.handOver && !c.terms.Fencing && c.terms.MaxHold == 0 && c.minHold == 0
}

// queuePolicy returns how the callers of this Locker may pass a lock of a kind to each other.
func (c *config) queuePolicy(k *kind.Kind) waitqueue.Policy {
	return waitqueue.Policy{Cohort: k.HandsOver && c.minHold == 0, ReuseLease: c.reusesLease(), TTL: c.terms.TTL}
}

// The bounds of the durations. They are far above any useful value. They are also so low that sums of a few of them,
// and small multiples, do not overflow a time.Duration (292 years).
const (
	maxDuration = 30 * 24 * time.Hour // for the TTL, the longest TTL, the maximum and the minimum hold
	maxNodeWait = time.Hour           // for the node timeout and the constant part of the drift budget
	maxRetry    = time.Hour
)

// validate checks the options of Open or New and sets the defaults that depend on others.
func (c *config) validate() error {
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
	if c.maxTTLSet && c.maxTTL <= 0 {
		bad("max TTL %v: it must be above 0; WithoutRestartGuard switches the guard off", c.maxTTL)
	}
	if c.owner == "" || strings.ContainsFunc(c.owner, unicode.IsControl) {
		bad("owner %q: it must not be empty or contain control characters", names.Truncate(c.owner))
	}
	if err := kind.CheckOwner(c.owner); err != nil {
		bad("%s", plain(err))
	}
	if c.logger == nil {
		bad("logger nil: without WithLogger, nothing is logged")
	}
	if c.clock == nil {
		bad("clock nil: leave WithClock out to use the system's")
	}
	if c.tlsSet && c.tls == nil {
		bad("TLS configuration nil: leave WithTLSConfig out to use the system's certificate authorities")
	}
	for _, err := range []error{
		above("node timeout", c.nodeTimeout, maxNodeWait), above("drift of at least", c.drift.Least, maxNodeWait),
		above("max TTL", c.maxTTL, maxDuration),
	} {
		if err != nil {
			bad("%s", plain(err))
		}
	}
	if len(wrong) > 0 {
		return errors.New(prefix + strings.Join(wrong, "; "))
	}
	if !c.maxTTLSet {
		c.maxTTL = max(c.terms.TTL, c.minHold, c.hooks.MaxTTL)
	}
	return c.validateLock()
}

// validateLock checks the options that a single lock may set, rounds the TTL down to whole milliseconds, and sets the
// terms of leases.
func (c *config) validateLock() error {
	for _, err := range []error{
		above("TTL", c.terms.TTL, maxDuration), above("max hold", c.terms.MaxHold, maxDuration),
		above("min hold", c.minHold, maxDuration),
		above("retry from", c.retryMin, maxRetry), above("retry to", c.retryMax, maxRetry),
	} {
		if err != nil {
			return err
		}
	}
	given := c.terms.TTL
	c.terms.TTL = given.Truncate(time.Millisecond)
	overhead := c.driftBudget() + c.timeout()
	switch {
	case c.terms.TTL <= 0:
		return fmt.Errorf("redlock: TTL %v: it must be at least a millisecond", given)
	case c.terms.TTL <= overhead:
		return fmt.Errorf("redlock: TTL %v: it must be above %v, which the drift budget (%v) and one node timeout (%v) "+
			"take off it; use a longer TTL or a shorter node timeout",
			given, overhead, c.driftBudget(), c.timeout())
	case c.guard && c.terms.TTL > c.maxTTL:
		return c.aboveMaxTTL("TTL", c.terms.TTL)
	case c.minHold < 0:
		return fmt.Errorf("redlock: min hold %v: it must not be negative", c.minHold)
	case c.guard && c.minHold > c.maxTTL:
		return c.aboveMaxTTL("min hold", c.minHold)
	case c.terms.MaxHold < 0:
		return fmt.Errorf("redlock: max hold %v: it must not be negative", c.terms.MaxHold)
	case c.terms.MaxHold > 0 && c.minHold > c.terms.MaxHold:
		return fmt.Errorf("redlock: min hold %v is above the max hold of %v, after which the lock is lost; "+
			"use a shorter WithMinHold or a longer WithMaxHold", c.minHold, c.terms.MaxHold)
	case c.retryMin <= 0 || c.retryMax < c.retryMin:
		return fmt.Errorf("redlock: retry from %v to %v: the first must be above 0 and not above the second",
			c.retryMin, c.retryMax)
	}
	c.terms.Drift, c.terms.Timeout, c.terms.Window = c.driftBudget(), c.timeout(), c.window()
	return nil
}

// aboveMaxTTL returns the error for a TTL or a minimum hold that is longer than a restarted master waits.
func (c *config) aboveMaxTTL(what string, d time.Duration) error {
	return fmt.Errorf("redlock: %s %v is above the max TTL of %v, for which a restarted master does not vote: set "+
		"WithMaxTTL to %v in every client of these masters", what, d, c.maxTTL, d)
}

// with returns a copy with the options of one lock applied and checked.
func (c *config) with(opts []LockOption) (*config, error) {
	if len(opts) == 0 {
		return c, nil
	}
	changed := *c
	for _, o := range opts {
		if o == nil {
			return nil, errors.New("redlock: a nil LockOption")
		}
		o.applyTo(&changed)
	}
	if err := changed.validateLock(); err != nil {
		return nil, err
	}
	return &changed, nil
}

// above returns an error if a duration is above its bound.
func above(what string, d, bound time.Duration) error {
	if d <= bound {
		return nil
	}
	return fmt.Errorf("redlock: %s %v: it must not be above %v", what, d, bound)
}

// The harnesses of this module get the option that sets Hooks from package seam, and package doctor the settings of a
// Locker. No exported function returns them.
func init() {
	seam.Register(func(h seam.Hooks) any { return option(func(c *config) { c.hooks = h }) })
	seam.RegisterDeployment(func(locker any) (seam.Deployment, error) { return locker.(*Locker).deployment() })
}

// deployment returns what package doctor needs to know.
func (l *Locker) deployment() (seam.Deployment, error) {
	if err := l.begin(); err != nil {
		return seam.Deployment{}, failed("examine", nil, err)
	}
	defer l.end()
	return seam.Deployment{
		Nodes: l.masters, Clock: l.cfg.clock, TTL: l.cfg.terms.TTL, NodeTimeout: l.cfg.terms.Timeout, Drift: l.cfg.drift,
		Guard: l.cfg.guard, RestartWindow: l.cfg.terms.Window, Closing: l.ending,
	}, nil
}
