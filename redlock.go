// Package redlock implements a distributed lock over a quorum of independent Redis masters.
//
// A [Locker] sends SET name token NX PX ttl to N masters at the same time. The masters do not know of each other. The
// Locker holds the lock if a majority grants it while validity is left: the TTL, minus the time that the requests took,
// minus a budget for clock drift. A failed attempt is released on every master. The lock survives the loss of a
// minority of the masters. Its safety depends on how fast clocks run, not on the time that they show.
//
//	locker, err := redlock.Open([]string{"redis://10.0.0.1", "redis://10.0.1.1", "redis://10.0.2.1"})
//	lock, err := locker.Lock(ctx, "orders:42")
//	defer lock.Unlock(ctx)
//
// The algorithm is Redlock (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/). It takes into
// account the critique by Kleppmann (https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html) and
// ten years of bugs reported against Redlock clients. It differs from the original in these points:
//
//   - A master that restarted may have forgotten what it granted. It may not vote until the largest TTL plus its drift
//     has passed; see [WithMaxTTL].
//   - A release is repeated until the master confirms it. Otherwise a frozen master could wake up and execute the SET
//     that waits in its receive buffer.
//   - [Lock.Context] ends when the lock is lost: at [Lock.Until] at the latest, if the process is scheduled. Until then
//     a keepalive extends the lock; see [WithoutKeepalive].
//   - Waiters do not rely on polling. A release is published on every master, and a waiter retries once a majority has
//     published it. While a Locker passes a lock among its own callers, for a short time, it publishes only the last
//     release; see [WithoutHandOver].
//
// No lock of this kind by itself makes a paused process safe: the process does not notice the pause. Check [Lock.Err]
// as late as possible before each effect. Make effects idempotent, or have the storage check a fencing token
// ([WithFencing]).
package redlock

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/journal"
	"github.com/redlock-go/redlock/internal/keepalive"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/names"
	"github.com/redlock-go/redlock/internal/waitqueue"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// Locker acquires locks on one set of masters. It is safe for concurrent use, and one per process is enough.
type Locker struct {
	cfg      config
	quorum   *quorum.Quorum
	queues   *waitqueue.Queues
	schedule *keepalive.Schedule
	masters  []*wire.Node
	activity activity
	journal  journal.Journal
	outage   outage
	failing  failingExtensions
	opened   time.Time
	cluster  string // name of a master that is a Redis Cluster, where the keys of one operation share a slot; "": none

	mu     sync.Mutex
	busy   sync.WaitGroup // the calls in progress, see begin
	ending chan struct{}  // closed when Close begins, with mu held
}

// Open returns a Locker over one master per URL: one, or an odd number of at least three. Like sql.Open it checks its
// arguments, sends nothing, and connects on first use. A URL is redis://[user:password@]host[:port][/db], rediss:// for
// TLS, or unix://path.
func Open(urls []string, opts ...Option) (*Locker, error) {
	cfg, err := configure(opts)
	if err != nil {
		return nil, err
	}
	masters := make([]*node.Node, 0, len(urls))
	for i, u := range urls {
		if strings.TrimSpace(u) == "" {
			return nil, fmt.Errorf("redlock: the URL of master %d of %d is empty: is the list of masters set?",
				i+1, len(urls))
		}
		opts := []node.Option{node.WithClock(cfg.clock)}
		if scheme, _, _ := strings.Cut(u, "://"); cfg.tls != nil && strings.EqualFold(scheme, "rediss") {
			opts = append(opts, node.WithTLSConfig(cfg.tls))
		}
		m, err := node.Open(u, opts...)
		if err != nil {
			return nil, err
		}
		masters = append(masters, m)
	}
	return assemble(masters, cfg)
}

// Wrap returns a Locker over one master: the server, the Sentinel failover group or the Cluster that a client of
// go-redis talks to. The Locker uses the client's connections, or over a Cluster perhaps its own, and never closes the
// client. It takes the client with the options that it has; [node.Wrap] says what changes for the Locker's requests.
// WithTLSConfig has no effect.
//
// The lock is worth as much as that master. While it is down, no client gets the lock. After a failover to a replica
// that has not received the lock yet, and wherever else the master loses a key early, two clients hold it. [Open] with
// five masters does not have these weaknesses.
func Wrap(client redis.UniversalClient, opts ...Option) (*Locker, error) {
	cfg, err := configure(opts)
	if err != nil {
		return nil, err
	}
	m, err := node.Wrap(client, node.WithClock(cfg.clock))
	if err != nil {
		return nil, err
	}
	return assemble([]*node.Node{m}, cfg)
}

// New returns a Locker over masters that package node made: by [node.Open], for example with a custom dialer, or by
// [node.Wrap] around a client. The Locker owns the masters and closes them; it does not close a wrapped client.
func New(masters []*node.Node, opts ...Option) (*Locker, error) {
	cfg, err := configure(opts)
	if err != nil {
		return nil, err
	}
	return assemble(masters, cfg)
}

func configure(opts []Option) (config, error) {
	cfg := defaults()
	for _, o := range opts {
		if o == nil {
			return cfg, errors.New("redlock: a nil Option")
		}
		o.applyTo(&cfg)
	}
	err := cfg.validate()
	cfg.clock = clock.CountSuspensions(cfg.clock)
	return cfg, err
}

func assemble(masters []*node.Node, cfg config) (*Locker, error) {
	l := &Locker{cfg: cfg, activity: newActivity(), opened: cfg.clock.Now(), ending: make(chan struct{})}
	l.journal.Logger, l.journal.Clock = cfg.enabledLogger(), cfg.clock
	nodes := make([]quorum.Node, len(masters))
	for i, m := range masters {
		if m == nil {
			continue // quorum.New reports it
		}
		n := wire.New(m)
		nodes[i], l.masters = n, append(l.masters, n)
		if n.Clustered() {
			l.cluster = n.Name()
		}
	}
	l.cfg.scripts = kind.DefaultScripts
	if rewrite := cfg.hooks.Script; rewrite != nil {
		l.cfg.scripts = kind.NewScripts(rewrite)
	}
	if replace := cfg.hooks.Nodes; replace != nil {
		nodes = replace(nodes)
	}
	q, err := quorum.New(quorum.Config{
		Nodes: nodes, Clock: cfg.clock, OnVote: cfg.trace.voted(), OnHealth: l.reportHealth, OnDuplicate: l.logDuplicate,
		Closing: l.ending,
	})
	if err != nil {
		return nil, err
	}
	l.quorum = q
	l.queues = l.newQueues()
	l.schedule = keepalive.New(cfg.clock, expiryLead)
	return l, nil
}

// newQueues returns the wait queues. Their waiters listen to the masters.
func (l *Locker) newQueues() *waitqueue.Queues {
	return waitqueue.New(waitqueue.Config{
		Now: l.cfg.clock.Now,
		Listen: func(names []string, news func()) waitqueue.Subscription {
			channels := make([]string, len(names))
			for i, name := range names {
				channels[i] = kind.Channel(name)
			}
			return l.quorum.Listen(news, channels...)
		},
		HeldError: func(name, kind, holder string) error {
			return &HeldError{Name: name, Kind: Kind(kind), Holder: names.Printable(holder)}
		},
	})
}

// begin counts a call that may talk to the masters. end must be called when the call ends.
func (l *Locker) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isEnding() {
		return ErrClosed
	}
	l.busy.Add(1)
	return nil
}

func (l *Locker) end() { l.busy.Done() }

// isEnding reports whether Close has begun.
func (l *Locker) isEnding() bool {
	select {
	case <-l.ending:
		return true
	default:
		return false
	}
}

// Close releases every lock that is held, ends waiters and holders with [ErrClosed], and returns when all goroutines of
// the Locker have ended. A second Close returns nil.
//
// Close takes at most a second and two node timeouts, whatever the masters do. It logs the masters that have not
// confirmed every release by then; the keys expire with their TTL. Within the same time it waits for the logger. With
// [node.Wrap] it may take longer: it cannot close the connections of a wrapped client, so it also waits for that
// client's own timeouts.
//
// After Close, every other method of the Locker and of its Locks returns ErrClosed, except the methods that report past
// state, such as [Lock.Err] and [Lock.Until].
func (l *Locker) Close() error {
	deadline := l.cfg.clock.Now().Add(closeBudget + 2*l.cfg.terms.Timeout)
	l.mu.Lock()
	if l.isEnding() {
		l.mu.Unlock()
		return nil
	}
	close(l.ending)
	l.mu.Unlock()
	defer l.endClose(deadline) // deferred, as all cleanup, because a callback may panic
	for _, lock := range l.schedule.Close() {
		defer (*Lock)(lock.(*scheduled)).close()
	}
	return nil
}

// endClose ends everything but the locks.
func (l *Locker) endClose(deadline time.Time) {
	l.busy.Wait()
	l.outage.stop()
	if names := l.quorum.Close(deadline); len(names) > 0 {
		l.journal.Log(slog.LevelWarn, "redlock: closed with releases unconfirmed; the keys expire with their TTL",
			"masters", names)
	}
	l.journal.Close(deadline.Add(journalBudget))
}

// Closed returns a channel that is closed when [Locker.Close] begins, for code that waits for more than the Locker.
func (l *Locker) Closed() <-chan struct{} { return l.ending }

// closeBudget is how long Close lets the nodes confirm releases, on top of two node timeouts. Close needs the rest of
// its second to close the connections.
const closeBudget = 900 * time.Millisecond

// journalBudget is how long after that Close lets a handler write the last lines.
const journalBudget = 50 * time.Millisecond

// checkHashSlots returns an error if a Cluster among the masters keeps the target's keys in several hash slots.
func (l *Locker) checkHashSlots(t kind.Target, cfg *config) error {
	if l.cluster == "" {
		return nil
	}
	return t.CheckHashSlots(l.cluster, cfg.terms.Fencing)
}

// noSiblingKeys reports whether a Cluster among the masters can keep no other key in the slot of the name. Only a mutex
// without a fencing token can hold such a name.
func (l *Locker) noSiblingKeys(name string) bool {
	return l.cluster != "" && kind.CheckHashSlots(l.cluster, []string{name}) != nil
}
