package stacktest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/election"
	"github.com/redlock-go/redlock/keyed"
)

// TestCoordinationUnderRandomFaults has three processes use a semaphore, jobs with a minimum hold, an election and a
// Keyed, while masters, links and processes freeze, crash and lose each other. There are never two leaders, two holders
// of a key in one process, or n + 1 permits; no job begins within the minimum hold of the one before; terms grow; every
// call ends with its context; and no key stays.
func TestCoordinationUnderRandomFaults(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			inWorld(t, []int{1, 3, 5}[seed%3], func(t *testing.T, w *world) {
				r := &coordination{t: t, w: w, random: rand.New(rand.NewPCG(seed, 7))}
				r.run()
				r.judge()
			})
		})
	}
}

const (
	permits = 2
	minHold = 3 * time.Second
	lateEnd = 300 * time.Millisecond // by which a call may outlast its context, while its process is frozen
)

// coordination is one run.
type coordination struct {
	t *testing.T
	w *world

	mu     sync.Mutex
	random *rand.Rand
	spans  []span
	late   []string // the calls that outlasted their contexts
}

// span is a hold of a name.
type span struct {
	name, owner string // holds of one owner do not exclude each other; "": every hold has an owner of its own
	from, to    time.Time
	kept        time.Time // until when the name stayed taken
	term        uint64    // of a leader
}

func (r *coordination) draw(below int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.IntN(below)
}

func (r *coordination) upTo(d time.Duration) time.Duration { return time.Duration(r.draw(int(d))) }

func (r *coordination) run() {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for i := range 3 {
		opts := [][]redlock.Option{nil, {redlock.WithFencing()}, {redlock.WithoutHandOver()}}[i]
		opts = append(opts, redlock.WithTTL(2*time.Second), redlock.WithNodeTimeout(100*time.Millisecond),
			redlock.WithMaxTTL(minHold+time.Second))
		host := fmt.Sprint("host", i)
		l := r.w.locker(r.t, host, opts...)
		keys, candidate := keyed.New(l), election.New(l, "leader")
		for _, use := range []func(context.Context){
			func(ctx context.Context) { r.lead(ctx, candidate) },
			func(ctx context.Context) { r.permit(ctx, l) },
			func(ctx context.Context) { r.job(ctx, l, host) },
			func(ctx context.Context) { r.key(ctx, keys, host) },
		} {
			for range 2 {
				all.Go(func() {
					for ctx.Err() == nil {
						use(ctx)
						time.Sleep(r.upTo(300 * time.Millisecond))
					}
				})
			}
		}
	}
	for ctx.Err() == nil {
		r.fault()
		time.Sleep(r.upTo(1500 * time.Millisecond))
	}
	all.Wait()
}

// fault does one harm and heals it.
func (r *coordination) fault() {
	m, host := r.w.Masters()[r.draw(len(r.w.Masters()))], r.w.Host(fmt.Sprint("host", r.draw(3)))
	link := host.To(m.Index())
	faults := []struct {
		begin, end func()
		lasts      time.Duration
	}{
		{m.Freeze, m.Thaw, 4 * time.Second},
		{m.Crash, m.Start, time.Second},
		{m.Disconnect, m.Heal, 2 * time.Second},
		{link.BlackHole, link.Heal, 3 * time.Second},
		{host.Freeze, host.Thaw, 5 * time.Second},
	}
	f := faults[r.draw(len(faults))]
	f.begin()
	time.Sleep(r.upTo(f.lasts))
	f.end()
}

// call calls f with a context that ends sooner or later, and checks that f returns by then.
func (r *coordination) call(ctx context.Context, what string, f func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second+r.upTo(8*time.Second))
	defer cancel()
	err := f(ctx)
	if by, _ := ctx.Deadline(); time.Since(by) > lateEnd {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.late = append(r.late, fmt.Sprintf("%s: %v too late: %v", what, time.Since(by), err))
	}
	return err == nil
}

// hold holds a lock for some time, perhaps past its loss, and unlocks it. keep is its minimum hold.
func (r *coordination) hold(s span, l *redlock.Lock, keep time.Duration, unlock func(context.Context) error) {
	s.from = time.Now()
	switch work := time.After(r.upTo(4 * time.Second)); r.draw(3) {
	case 0:
		<-work
	default:
		select {
		case <-l.Context().Done():
		case <-work:
		}
	}
	s.to = time.Now()
	if until := l.Until(); until.Before(s.to) {
		s.to = until
	}
	s.kept = s.to
	if err := unlock(r.t.Context()); err == nil && keep > 0 {
		s.kept = s.from.Add(keep)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.from.Before(s.to) { // otherwise the process was frozen while it got the lock
		r.spans = append(r.spans, s)
	}
}

func (r *coordination) lead(ctx context.Context, e *election.Election) {
	var l *election.Leadership
	if r.call(ctx, "campaign", func(ctx context.Context) (err error) { l, err = e.Campaign(ctx); return err }) {
		lock, _ := redlock.FromContext(l.Context())
		r.hold(span{name: "leader", term: l.Term()}, lock, 0, l.Resign)
	}
}

// keeping returns a minimum hold and its option, or none.
func (r *coordination) keeping() (time.Duration, []redlock.LockOption) {
	if r.draw(2) == 0 {
		return 0, nil
	}
	return minHold, []redlock.LockOption{redlock.WithMinHold(minHold)}
}

func (r *coordination) permit(ctx context.Context, l *redlock.Locker) {
	var p *redlock.Lock
	keep, opts := r.keeping()
	acquire := l.Semaphore("permits", permits).Acquire
	if r.draw(3) == 0 {
		acquire = l.Semaphore("permits", permits).TryAcquire
	}
	if r.call(ctx, "permit", func(ctx context.Context) (err error) { p, err = acquire(ctx, opts...); return err }) {
		r.hold(span{name: "permits"}, p, keep, p.Unlock)
	}
}

// job locks a name as a mutex, or as a reentrant lock whose owner is the process.
func (r *coordination) job(ctx context.Context, l *redlock.Locker, host string) {
	var lock *redlock.Lock
	keep, opts := r.keeping()
	s, acquire := span{name: "job", owner: host}, l.Reentrant("job", host).Lock
	if r.draw(2) == 0 {
		s.owner = ""
		acquire = func(ctx context.Context, opts ...redlock.LockOption) (*redlock.Lock, error) {
			return l.Lock(ctx, "job", opts...)
		}
	}
	if r.call(ctx, "job", func(ctx context.Context) (err error) { lock, err = acquire(ctx, opts...); return err }) {
		r.hold(s, lock, keep, lock.Unlock)
	}
}

// key holds a key of a process for some time. No other caller of the process may have it before Unlock, even after a
// loss.
func (r *coordination) key(ctx context.Context, k *keyed.Keyed, host string) {
	if !r.call(ctx, "key", func(ctx context.Context) error { return k.Lock(ctx, "key") }) {
		return
	}
	s := span{name: "key of " + host, from: time.Now()}
	time.Sleep(r.upTo(4 * time.Second))
	s.to = time.Now()
	s.kept = s.to
	_ = k.Unlock(r.t.Context(), "key")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans = append(r.spans, s)
}

// judge checks what was recorded.
func (r *coordination) judge() {
	assert.Empty(r.t, r.late)
	var taken []permitHold
	count := make(map[string]int)
	for i, a := range r.spans {
		count[strings.Fields(a.name)[0]]++
		if a.name == "permits" {
			taken = append(taken, permitHold{from: a.from, to: a.kept.Add(-time.Millisecond)})
			continue
		}
		for _, b := range r.spans[i+1:] {
			r.judgePair(a, b)
		}
	}
	assert.LessOrEqual(r.t, mostAtOnce(taken), permits)
	for _, name := range []string{"leader", "permits", "job", "key"} {
		assert.Greater(r.t, count[name], 5, name)
	}
	time.Sleep(2 * minHold)
	for _, m := range r.w.Masters() {
		for _, key := range m.Keys() {
			assert.True(r.t, strings.HasPrefix(key, "redlock:fence:"), "left on %s: %s", m.Addr(), key)
		}
	}
}

func (r *coordination) judgePair(a, b span) {
	if a.name != b.name || a.owner != "" && a.owner == b.owner {
		return
	}
	if b.from.Before(a.from) {
		a, b = b, a
	}
	assert.False(r.t, b.from.Before(a.to), "two holders: %v and %v", a, b)
	assert.False(r.t, b.from.Before(a.kept.Add(-time.Millisecond)), "within the minimum hold: %v and %v", a, b)
	if a.term > 0 {
		assert.Less(r.t, a.term, b.term)
	}
}
