package simulation

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/chaos/internal/register"
)

// Group is a set of names and the way in which workers of every client use them. A scenario calls it traffic.
type Group struct {
	Names []string
	// Own gives every client its own names, derived from Names.
	Own bool
	// Kind is the kind of the locks. With Reader, the share Writers of the locks are writers' locks, of which the share
	// Downgrades is downgraded.
	Kind                string
	Writers, Downgrades float64
	// Shared makes the client, through all its lives, the owner of a reentrant lock. Otherwise the worker is the owner.
	// Depth is the number of nested holds.
	Shared bool
	Depth  int
	TTL    time.Duration
	// Careless makes holders continue after they have lost the lock.
	Keepalive, Careless, Fencing bool
	// Workers is the number of workers of each client. 0 means one.
	Workers int
	// Stay is how long a lock is held. With probability Chance, Rare applies instead. Rest is the pause before the next
	// lock.
	Stay, Rare Span
	Chance     float64
	Rest       Span
	// Patience is how long most workers wait for a lock.
	Patience time.Duration
	// Register is the register that the lock protects, a name of package history, or "" for none.
	Register string
}

// Span is a range of durations: from Least up to, but not including, Below.
type Span struct{ Least, Below time.Duration }

func (s Span) draw(r *rand.Rand) time.Duration {
	if s.Below <= s.Least {
		return s.Least
	}
	return s.Least + time.Duration(r.Int64N(int64(s.Below-s.Least)))
}

// impatience is how long some workers wait, and retryPause the pause after a failure. Package traffic uses the same
// values.
var impatience = Span{20 * time.Millisecond, 500 * time.Millisecond}

const retryPause = 20 * time.Millisecond

// names returns the group's names as a client locks them.
func (g Group) names(client string) []string {
	names := make([]string, len(g.Names))
	for i, n := range g.Names {
		names[i] = n
		if g.Own {
			names[i] += ":" + client
		}
	}
	return names
}

// contend locks, holds and unlocks the group's names until the storm is over.
func (w *worker) contend(g Group) {
	for !w.isOver() {
		want, p := w.wants(g)
		if h := w.take(want, p); h != nil {
			w.section(g, h, w.meantFor(g), g.Depth)
		} else {
			w.pause(context.Background(), retryPause)
		}
		w.pause(context.Background(), g.Rest.draw(w.rng))
	}
}

// wants draws the next lock to ask for and how long to wait for it.
func (w *worker) wants(g Group) (locker.Request, patient) {
	names := g.names(w.client.Name)
	w.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	want := locker.Request{Mode: g.Kind, Names: names[:1], Fencing: g.Fencing, TTL: g.TTL, Keepalive: g.Keepalive}
	switch g.Kind {
	case kinds.Reader:
		if w.rng.Float64() < g.Writers {
			want.Mode = kinds.Writer
		}
	case kinds.Reentrant:
		want.Owner = w.who
		if g.Shared {
			want.Owner = w.client.Name
		}
	case kinds.Several:
		want.Names = names[:2+w.rng.IntN(len(names)-1)]
	}
	p := patient{most: g.Patience}
	switch w.rng.IntN(6) {
	case 0:
		want.Try = true
	case 1:
		p.most = impatience.draw(w.rng)
	}
	return want, p
}

func (w *worker) meantFor(g Group) time.Duration {
	if w.rng.Float64() < g.Chance {
		return g.Rare.draw(w.rng)
	}
	return g.Stay.draw(w.rng)
}

// section is the critical section: it reads the register, holds the lock, writes the register if the lock is still
// held, and unlocks.
func (w *worker) section(g Group, h *holding, meant time.Duration, depth int) {
	downgrades := h.mode() == kinds.Writer && w.rng.Float64() < g.Downgrades
	if downgrades {
		meant /= 2
	}
	seen := w.read(g, h)
	w.last(Holding)
	ctx := h.lock.Context()
	if g.Careless {
		ctx = context.Background()
	}
	inner := g
	inner.Register = ""
	if depth > 1 {
		if again := w.take(h.want, patient{most: g.Patience}); again != nil {
			w.section(inner, again, meant/2, depth-1)
		}
	}
	w.pause(ctx, meant)
	goesOn := func() bool { return g.Careless || h.lock.Context().Err() == nil }
	if h.mode() != kinds.Reader && goesOn() {
		w.last(Writing)
		w.put(g, h, seen)
	}
	if downgrades && goesOn() {
		h.downgrade()
		w.pause(ctx, meant)
	}
	h.end()
}

// last freezes or kills the worker's client if m is its crash point.
func (w *worker) last(m Moment) {
	if !w.life.reached(m) {
		return
	}
	w.note(w.host.Name(), "%s", m)
	if m == Writing {
		w.freeze(w.life)
	} else {
		w.host.Kill()
	}
	w.host.AwaitThaw()
}

// soon kills the worker's client within 100 µs, in the middle of its next call, if m is its crash point.
func (w *worker) soon(m Moment) {
	if w.life.reached(m) {
		w.note(w.host.Name(), "soon killed, %s", m)
		time.AfterFunc(within(w.rng, 100*time.Microsecond), w.host.Kill)
	}
}

// question returns the hold as a register needs it.
func (h *holding) question(from, value int64) register.Question {
	return register.Question{
		Name: h.want.Names[0], Mode: h.mode(), Fence: h.lock.Fence(), From: from, Value: value,
		Client: h.life.client, Life: h.life.number, Worker: h.n + 1, Op: h.op,
	}
}

// read returns the value of the group's register.
func (w *worker) read(g Group, h *holding) int64 {
	if g.Register == "" {
		return 0
	}
	value, _ := w.registers[g.Register].Read(h.question(0, 0))
	return value
}

// put increments the group's register from the value seen, unless the register refuses that.
func (w *worker) put(g Group, h *holding, seen int64) {
	if g.Register != "" {
		_ = w.registers[g.Register].Write(h.question(seen, seen+1))
	}
}
