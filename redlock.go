// Package redlock is a lock over a quorum of independent Redis masters.
//
// A [Locker] sends SET name token NX PX ttl to N masters at once, none of which knows of the others, and holds the lock
// when a majority has granted it and time is left: the TTL, less what the asking took, less a budget for the drift of
// clocks. Whatever fails is released on every master. So the lock survives the loss of a minority of the masters, and
// its state rests on no clock but the speed at which clocks run.
//
//	locker, err := redlock.Open([]string{"redis://10.0.0.1", "redis://10.0.1.1", "redis://10.0.2.1"})
//	lock, err := locker.Lock(ctx, "orders:42")
//	defer lock.Unlock(ctx)
//
// The algorithm is Redlock (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/), with what its
// critique (https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html) and ten years of clients have
// taught. Where it differs:
//
//   - A master that restarted may have forgotten what it granted. It may not vote until the largest TTL has passed
//     ([WithRestartWindow]).
//   - A release that a master did not confirm is pursued until it has: a frozen master that wakes up would carry out the
//     SET that waits in its buffer.
//   - A holder is told when it loses the lock, by [Lock.Context], no later than the lock can become another's. A keepalive
//     extends it until then ([WithoutKeepalive]).
//   - Who waits does not poll: a release is announced, and heard when a majority of the masters announced it. Not every one is:
//     where the next in line of the same Locker goes on, for a short time, those elsewhere are told afterwards
//     ([WithoutHandOver]).
//
// No lock of this kind makes a paused process safe by itself: it does not know that it was paused. Check [Lock.Err] as
// late as possible before each effect, and keep effects idempotent or guarded by the storage that they reach.
package redlock

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/sabotage"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// Locker takes locks on one set of masters. It is safe for concurrent use; a process needs one.
type Locker struct {
	cfg    config
	quorum *quorum.Quorum
	lines  lines
	keeper *keeper
	// cluster is a master that is a Cluster, "" if none is: keys of one operation must be in one slot there.
	cluster string

	mu     sync.Mutex
	closed bool
	busy   sync.WaitGroup // calls that may be talking to the masters
	ending chan struct{}  // closed with the Locker
}

// Open makes a Locker over one master per URL: one, or an odd number of at least three. It sends nothing: like
// sql.Open it checks what it was given and connects on first use. A URL is redis://[user:password@]host[:port][/db],
// rediss:// for TLS, or unix://path.
func Open(urls []string, opts ...Option) (*Locker, error) {
	cfg, err := configure(opts)
	if err != nil {
		return nil, err
	}
	masters := make([]*node.Node, 0, len(urls))
	for _, u := range urls {
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

// New makes a Locker over masters made by package node: [node.Open] with a dialer of one's own, or [node.Wrap] around a
// client. The masters belong to the Locker from then on, and end with it; a wrapped client does not.
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
	return cfg, cfg.settle()
}

func assemble(masters []*node.Node, cfg config) (*Locker, error) {
	l := &Locker{cfg: cfg, ending: make(chan struct{})}
	nodes := make([]quorum.Node, len(masters))
	for i, m := range masters {
		if m != nil { // a nil *node.Node would not be a nil quorum.Node
			nodes[i] = m
			if m.Clustered() {
				l.cluster = m.Name()
			}
		}
	}
	l.cfg.rules.scripts = sound
	if rewrite := cfg.rules.broken.Script; rewrite != nil {
		l.cfg.rules.scripts = newScripts(rewrite)
	}
	q, err := quorum.New(quorum.Config{
		Nodes: nodes, Clock: cfg.clock, Voted: cfg.trace.voted(), Standing: l.standing, Twins: l.twins,
		Ending: l.ending, Broken: sabotage.Seal(cfg.rules.broken),
	})
	if err != nil {
		return nil, err
	}
	l.quorum = q
	l.lines.init(q)
	l.keeper = newKeeper(cfg.clock, lead-cfg.rules.broken.ToldLate, q.Slept)
	return l, nil
}

func (l *Locker) standing(master string, err error) {
	var refusal *node.RefusalError
	if errors.As(err, &refusal) {
		l.refusal(master, refusal)
		return
	}
	if err != nil {
		l.cfg.logger.Warn("redlock: a master does not answer", "master", master, "error", err)
	} else {
		l.cfg.logger.Info("redlock: a master answers again", "master", master)
	}
	if t := l.cfg.trace; t != nil && t.Node != nil {
		t.Node(master, err)
	}
}

// refusal logs that a master answers but refuses releases, or that this is over.
func (l *Locker) refusal(master string, r *node.RefusalError) {
	var right *node.RightError
	barred := errors.As(r.Err, &right)
	switch {
	case barred && r.Over:
		l.cfg.logger.Info("redlock: a master allows scripts again, and is asked for locks", "master", master)
	case barred:
		l.cfg.logger.Warn("redlock: a master is not asked for locks", "master", master, "error", r.Err)
	case r.Over:
		l.cfg.logger.Info("redlock: a master executes releases again", "master", master)
	default:
		l.cfg.logger.Warn("redlock: a master refuses releases, which are repeated", "master", master, "error", r.Err)
	}
}

func (l *Locker) twins(master, twin string) {
	l.cfg.logger.Warn("redlock: two masters are one server, and have one vote", "master", master, "twin", twin)
}

// begin counts a call that may talk to the masters; end takes it back.
func (l *Locker) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	l.busy.Add(1)
	return nil
}

func (l *Locker) end() { l.busy.Done() }

// Close releases what is held, ends waiters and holders with [ErrClosed], and returns when no goroutine of the Locker
// runs any more. It takes at most a second and two node timeouts, whatever the masters do: a release that could not be
// confirmed by then is logged, and its keys end with their TTL. Over clients that were wrapped ([node.Wrap]) it may take
// as much longer as their own timeouts have a silent connection waited for, since it cannot end their connections. A
// second Close returns nil; every other method, also of its Locks, returns ErrClosed from then on, but for those that
// say what was ([Lock.Err], [Lock.Until] and the like).
func (l *Locker) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.mu.Unlock()
	deadline := l.cfg.clock.Now().Add(closing + 2*l.cfg.timeout())
	close(l.ending)
	for _, lock := range l.keeper.close() {
		lock.endWith(failed("lock", lock.name, ErrClosed))
	}
	l.busy.Wait()
	if names := l.quorum.Close(deadline); len(names) > 0 {
		l.cfg.logger.Warn("redlock: closed with releases unconfirmed; what they would have removed ends with its TTL", "masters", names)
	}
	return nil
}

// closing is what Close leaves of its second for what comes after the deadline of the nodes.
const closing = 900 * time.Millisecond
