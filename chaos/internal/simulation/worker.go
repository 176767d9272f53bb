package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/clock"
)

// worker acquires, holds and releases locks until the storm is over.
type worker struct {
	*life
	traffic *traffic.Worker
	who     string
	n       int // index among the client's workers
	asked   int // number of locks it asked for in turn
	rng     *rand.Rand
}

func newWorker(l *life, client, n int) *worker {
	return &worker{
		life: l, traffic: l.traffic.Worker(), who: fmt.Sprintf("%s.%d", l.host.Name(), n+1), n: n,
		rng: rand.New(rand.NewPCG(l.run.schedule.Seed, uint64(client*100+n+1+10000*l.number))),
	}
}

func (w *worker) work() {
	for w.run.storm.Err() == nil {
		want := w.draw()
		switch a := w.take(want, w.wait()); {
		case a == nil:
			w.pause(context.Background(), within(w.rng, 2*w.settings.Rest))
		case kinds.Of(a.Mode).Owned():
			w.reenter(a)
		default:
			w.stay(a, w.meant())
			w.unlock(a)
		}
		w.pause(context.Background(), within(w.rng, w.settings.Rest))
	}
}

// pause waits for d on the host's clock, until the storm is over, or until ctx ends.
func (w *worker) pause(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.run.storm, cancel)()
	_ = clock.Sleep(ctx, w.host.Clock(), d)
	w.Awake()
}

// patient says how a worker waits for a lock.
type patient struct {
	most   time.Duration
	cancel time.Duration // when to cancel the wait, 0 for never
}

func (w *worker) wait() patient {
	p := patient{most: within(w.rng, w.settings.Wait)}
	if w.rng.IntN(8) == 0 {
		p.cancel = within(w.rng, p.most)
	}
	return p
}

// take asks for a lock. It returns nil if the worker does not get it.
func (w *worker) take(want kinds.Request, p patient) *traffic.Attempt {
	if want.TTL == 0 {
		want.TTL, want.Keepalive = w.settings.TTL, w.settings.Keepalive
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.most)
	defer cancel()
	if p.cancel > 0 {
		defer time.AfterFunc(p.cancel, cancel).Stop()
	}
	return w.traffic.Take(ctx, want)
}

func (w *worker) extend(a *traffic.Attempt) {
	ctx, cancel := context.WithTimeout(context.Background(), w.settings.TTL)
	defer cancel()
	_ = a.Lock.Extend(ctx)
	w.Awake()
}

// unlock unlocks the lock. Sometimes the context of Unlock is already canceled.
func (w *worker) unlock(a *traffic.Attempt) {
	a.Over()
	ctx, cancel := context.WithTimeout(context.Background(), within(w.rng, time.Second))
	defer cancel()
	if w.rng.IntN(4) == 0 {
		cancel() // Unlock must work with a canceled context
	}
	a.Unlock(ctx)
	w.Awake()
}

// draw chooses the next lock to ask for.
func (w *worker) draw() kinds.Request {
	names := w.run.schedule.Names
	if w.run.schedule.Move > 0 {
		names = names[min(int(w.Now()/w.run.schedule.Move), len(names)-2):][:2]
	}
	if w.settings.Own && w.rng.IntN(2) == 0 {
		names = []string{"of " + w.settings.Name}
	}
	want := kinds.Request{
		Mode: w.run.schedule.Kinds[w.rng.IntN(len(w.run.schedule.Kinds))], Names: names[w.rng.IntN(len(names)):][:1],
		Fencing: w.rng.Float64() < w.run.schedule.Fencing, Try: w.rng.Float64() < w.settings.Hasty,
	}
	if w.run.schedule.Fencing > 0 && w.run.schedule.fenced(want.Mode) {
		want.Fencing = true
	}
	if w.settings.InTurn {
		want.Names = names[(w.n+w.asked)%len(names):][:1]
		w.asked++
	}
	switch kind := kinds.Of(want.Mode); {
	case kind.Several:
		want.Names = nil
		for _, i := range w.rng.Perm(len(names))[:1+w.rng.IntN(len(names))] {
			want.Names = append(want.Names, names[i])
		}
	case kind.Owned():
		want.Owner = []string{"owner1", "owner2"}[w.rng.IntN(2)] // all clients use the same owners
	case kind.Slotted():
		want.Slots = slots
	case kind.Elected():
		want.Fencing, want.Try = true, false
	}
	if kinds.Of(want.Mode).Shares == kinds.Alone && w.run.schedule.MinHold > 0 && w.rng.IntN(2) == 0 {
		want.MinHold = w.run.schedule.MinHold
	}
	return want
}

// reenter takes up to two nested holds for the owner of outer, and unlocks all holds in random order.
func (w *worker) reenter(outer *traffic.Attempt) {
	holds := []*traffic.Attempt{outer}
	w.stay(outer, w.meant())
	for range w.rng.IntN(3) {
		if w.run.storm.Err() != nil {
			break
		}
		if inner := w.inner(outer); inner != nil {
			holds = append(holds, inner)
			w.stay(inner, w.meant()/2)
		}
	}
	w.rng.Shuffle(len(holds), func(i, j int) { holds[i], holds[j] = holds[j], holds[i] })
	for _, h := range holds {
		w.unlock(h)
		w.pause(context.Background(), within(w.rng, w.settings.Rest))
	}
}

// inner takes a nested hold for the owner of outer. Other owners cannot make it wait, so it must succeed in a quiet
// schedule for as long as outer is valid.
func (w *worker) inner(outer *traffic.Attempt) *traffic.Attempt {
	want := outer.Request
	want.Fencing = w.rng.Float64() < w.run.schedule.Fencing
	want.Try = w.rng.IntN(2) == 0
	if !w.run.schedule.quiet() {
		return w.take(want, w.wait())
	}
	h := w.take(want, patient{most: patience})
	valid := w.Now() < w.TrueTime(outer.Lock.Until()) && outer.Lock.Context().Err() == nil
	if h == nil && valid && !w.host.Dead() && w.thawed.Load() == 0 {
		w.run.problem(check.ByLiveness, w.who, "%s was refused to %s though the owner holds it and all masters answer",
			want.Names[0], want.Owner)
	}
	return h
}

// meant draws how long to hold a lock.
func (w *worker) meant() time.Duration {
	most := w.settings.Stay
	if w.settings.Greedy {
		return most
	}
	if most = []time.Duration{0, most / 20, most / 2, most}[w.rng.IntN(4)]; most > 0 {
		return within(w.rng, most)
	}
	return 0
}

// stay holds the lock for the duration meant. Sometimes it extends the lock halfway.
func (w *worker) stay(h *traffic.Attempt, meant time.Duration) {
	ctx := h.Lock.Context()
	if !w.settings.Greedy && w.rng.IntN(4) == 0 {
		ctx = context.Background() // ignores the loss of the lock
	}
	if !w.settings.Greedy && meant > 10*time.Millisecond && w.rng.IntN(3) == 0 {
		w.pause(ctx, meant/2)
		w.extend(h)
		meant /= 2
	}
	w.pause(ctx, meant)
}
