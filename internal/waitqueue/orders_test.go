package waitqueue

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/testmain"
)

// TestNoOrderLeavesAFreeLock tries every order in which attempts and probes are executed and answered, locks released
// and handed over, messages delivered, and callers give up. No back-off ends, so only a wake-up helps. When nothing can
// happen any more, no caller waits for a lock that the masters would grant.
func TestNoOrderLeavesAFreeLock(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]world{
		"mutex":                       {width: 1, foreign: 1, callers: 3, leaves: 1},
		"mutex, held here":            {width: 1, own: 1, callers: 3, leaves: 1},
		"two permits":                 {width: 2, foreign: 2, callers: 3},
		"two permits, one leaves":     {width: 2, foreign: 2, callers: 2, leaves: 1},
		"two permits, one held here":  {width: 2, foreign: 1, own: 1, callers: 2, leaves: 1},
		"three permits, one held":     {width: 3, foreign: 2, own: 1, callers: 2},
		"two permits, both held here": {width: 2, own: 2, callers: 2, leaves: 1},
		"readers":                     {width: Unbounded, foreign: 1, callers: 3, leaves: 1},
	}, func(t *testing.T, start world) {
		e := explorer{t: t, start: start, seen: make(map[string]bool)}
		e.explore(nil)
		t.Logf("%d states", len(e.seen))
	})
}

// explorer visits every state that a world can reach. It runs each order from the start, since a world has no copy.
type explorer struct {
	t     *testing.T
	start world
	seen  map[string]bool
}

func (e *explorer) explore(path []int) {
	w, names := e.start.begin(), []string(nil)
	for _, i := range path {
		s := w.steps()[i]
		s.happens()
		w.settle()
		names = append(names, s.name)
	}
	key := w.key()
	if e.seen[key] {
		return
	}
	e.seen[key] = true
	steps := w.steps()
	if len(steps) == 0 {
		require.Empty(e.t, w.stuck(), strings.Join(names, ", "))
	}
	for i := range steps {
		e.explore(append(slices.Clip(path), i))
	}
}

// world is a process with callers, and its masters.
type world struct {
	width   int // also how many locks the masters grant at the same time
	foreign int // locks of other processes
	own     int // locks that this process has at the start
	callers int
	leaves  int // how many callers may give up

	qs       *Queues
	now      time.Time
	all      []*actor
	messages int // on their way
	sub      *inbox
}

// actor is a caller, or a lock that this process has.
type actor struct {
	world  *world
	w      Waiter
	next   Instruction
	joined bool
	doing  string // the request that is on its way: "", "attempt", "attempted", "probe", "probed"
	found  bool   // the answer: the lock was free
	before int    // of a probe: how many messages had come before
	hold   *Hold
	gone   bool
}

func (*actor) Policy() Policy                   { return Policy{Cohort: true, ReuseLease: true, TTL: time.Hour} }
func (*actor) Validity(time.Time) time.Duration { return time.Hour }
func (*actor) Publish()                         {}
func (a *actor) Release()                       { a.release() }

// inbox is a subscription.
type inbox struct {
	news       func()
	got, taken int // messages: that came, and that were taken or refuted
}

func (*inbox) Stop() {}

func (s *inbox) Take() bool {
	due := s.got > s.taken
	s.taken = s.got
	return due
}

// numbers are the ends of the names of the callers' steps.
var numbers = []string{" 0", " 1", " 2", " 3"}

// step is something that may happen next.
type step struct {
	name    string
	happens func()
}

func (w world) begin() *world {
	w.now = time.Unix(1_000_000_000, 0)
	w.qs = New(Config{
		Now: func() time.Time { return w.now },
		Listen: func(_ []string, news func()) Subscription {
			w.sub = &inbox{news: news}
			w.messages++ // the start of a subscription counts
			return w.sub
		},
		HeldError: func(string, string, string) error { return errors.New("held") },
	})
	for range w.own {
		a := &actor{world: &w}
		a.join()
		a.grant()
		w.all = append(w.all, a)
	}
	for range w.callers {
		w.all = append(w.all, &actor{world: &w})
	}
	return &w
}

// free reports whether the masters would grant a lock.
func (w *world) free() bool {
	used := w.foreign
	if w.width == Unbounded {
		return used == 0 // a writer's
	}
	for _, a := range w.all {
		if a.hold != nil || a.doing == "attempted" && a.found {
			used++
		}
	}
	return used < w.width
}

func (w *world) steps() (all []step) {
	add := func(name string, happens func()) { all = append(all, step{name, happens}) }
	if w.foreign > 0 {
		add("foreign release", func() { w.foreign--; w.messages++ })
	}
	if w.messages > 0 {
		add("message", func() { w.messages--; w.message() })
	}
	for i, a := range w.all {
		if !a.joined && i > 0 && !w.all[i-1].joined {
			continue // callers that have not called are equal
		}
		all = append(all, a.steps(i)...)
	}
	return all
}

// settle has every caller that was woken, or told to ask or to probe, do so.
func (w *world) settle() {
	for _, a := range w.all {
		if !a.joined || a.gone || a.hold != nil || a.doing != "" {
			continue
		}
		if len(a.w.wake) > 0 {
			a.next = a.w.Next()
		}
		switch a.next.Action {
		case Wait:
		case Ask:
			a.doing = "attempt"
		case Probe:
			a.w.Listen()
			a.doing, a.before = "probe", w.sub.got
		}
	}
}

func (w *world) message() {
	if w.sub != nil {
		w.sub.got++
		w.sub.news()
	}
}

// stuck returns the callers that wait although the lock is free.
func (w *world) stuck() (all []int) {
	for i, a := range w.all {
		if w.free() && !a.gone {
			all = append(all, i)
		}
	}
	return all
}

func (a *actor) steps(i int) (all []step) {
	add := func(name string, happens func()) { all = append(all, step{name + numbers[i], happens}) }
	free := a.world.free()
	switch {
	case a.gone:
		return nil
	case a.hold != nil:
		add("unlock", a.unlock)
		return all
	case !a.joined:
		add("call", a.join)
		return all
	case a.doing == "attempt":
		add("executed", func() { a.doing, a.found = "attempted", free })
	case a.doing == "attempted" && a.found:
		add("granted", a.grant)
	case a.doing == "attempted":
		add("denied", func() {
			a.doing = ""
			a.w.Failed(errors.New("held"), true)
			a.next = a.w.Next()
		})
	case a.doing == "probe":
		add("probed", func() { a.doing, a.found = "probed", free })
	case a.doing == "probed":
		add("pause", a.pause)
	case a.next.Action == Inherit:
		add("inherit", func() {
			a.next.Lock.(*actor).hold, a.hold = nil, new(Hold)
			a.w.Inherited(a.hold)
		})
	}
	if a.world.leaves > 0 {
		add("leave", a.leave)
	}
	return all
}

func (a *actor) join() {
	a.joined = true
	a.world.qs.Join(&a.w, Request{
		Names: []string{"x"}, Width: a.world.width, Policy: a.policy(),
		Slotted: a.world.width > 1 && a.world.width < Unbounded,
	})
	a.next = a.w.Next()
}

func (a *actor) policy() Policy {
	if a.world.width == Unbounded {
		return Policy{}
	}
	return a.Policy()
}

func (a *actor) grant() {
	a.doing, a.hold = "", new(Hold)
	a.w.Granted(a.hold, a.world.now, a.world.now)
}

// pause is what a caller does after a probe. If the lock was free, it tries again by itself.
func (a *actor) pause() {
	a.doing = ""
	delay := time.Hour
	if a.found {
		delay = 0
	}
	if s := a.world.sub; s != nil && !a.found {
		s.taken = max(s.taken, a.before)
	}
	a.w.Pause(delay)
	a.next = a.w.Next()
}

func (a *actor) unlock() {
	if a.world.width < Unbounded && a.hold.HandOver(a, a.world.now) == WithLease {
		a.gone = true
		return
	}
	a.release()
}

func (a *actor) release() {
	h := a.hold
	a.hold, a.gone = nil, true
	a.world.messages++
	h.Released(a.world.now, false)
}

func (a *actor) leave() {
	a.gone = true
	if a.doing == "attempted" && a.found {
		a.world.messages++ // what was granted is released
	}
	a.doing = ""
	a.world.leaves--
	a.w.Leave()
}

// key identifies the state. Of numbers that only grow, it has the differences.
func (w *world) key() string {
	var b strings.Builder
	fmt.Fprint(&b, w.foreign, w.leaves, w.messages)
	if w.sub != nil {
		fmt.Fprint(&b, " sub", w.sub.got-w.sub.taken)
	}
	for _, q := range w.qs.byKey {
		fmt.Fprint(&b, " queue", q.turns, q.limit, q.holds, q.news-q.urgent, q.reason != nil, q.subscription != nil)
	}
	for _, a := range w.all {
		fmt.Fprint(&b, " caller", a.joined, a.doing, a.found, a.hold != nil, a.gone, a.next.Action, a.next.After > 0)
		if q := a.w.queue; q != nil && !a.gone {
			since := q.news - a.w.seen
			if a.w.seen == 0 {
				since = math.MaxUint64
			}
			fmt.Fprint(&b, a.w.state, a.w.turn, len(a.w.wake), since, q.watcher == &a.w)
			if a.doing == "probe" || a.doing == "probed" {
				fmt.Fprint(&b, w.sub.got-a.before)
			}
		}
		if a.hold != nil {
			fmt.Fprint(&b, a.hold.state, a.hold.cohort.passes)
		}
	}
	return b.String()
}
