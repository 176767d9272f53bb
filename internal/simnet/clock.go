package simnet

import (
	"math"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/redlock-go/redlock/clock"
)

// A Clock is a client's clock. It starts with the bubble's time, and runs at the same rate until Rate changes it.
// Outside a bubble it does the same with the machine's time.
type Clock struct {
	mu      sync.Mutex
	stretch               // the present one
	past    []stretch     // those before, in order
	ahead   time.Duration // the time of day
	frozen  bool
	still   time.Time // what a frozen clock shows
	asleep  time.Time // bubble time at which Suspend was called; zero: it is not suspended
	slept   time.Duration
	timers  map[*timer]struct{}
}

// A stretch is an interval in which a clock has one rate.
type stretch struct {
	base  time.Time // bubble time …
	shown time.Time // … at which the clock showed this
	rate  float64
}

var (
	_ clock.Clock     = (*Clock)(nil)
	_ clock.Suspender = (*Clock)(nil)
)

// NewClock returns a clock that shows the bubble's time.
func NewClock() *Clock {
	now := time.Now()
	return &Clock{stretch: stretch{base: now, shown: now, rate: 1}, timers: make(map[*timer]struct{})}
}

// Now returns the time that the clock shows.
func (c *Clock) Now() time.Time {
	yield()
	return c.shows()
}

func (c *Clock) shows() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return stepped(c.now(), c.ahead)
}

func (c *Clock) now() time.Time {
	if c.frozen {
		return c.still
	}
	return c.running(time.Now())
}

// running returns what the clock shows at a bubble time if it is not frozen.
func (c *Clock) running(now time.Time) time.Time {
	past := now.Sub(c.base)
	if c.rate != 1 {
		past = time.Duration(float64(past) * c.rate)
	}
	return c.shown.Add(past)
}

// World returns the bubble time at which the clock shows t if it is not frozen. For a future t it assumes the present
// rate.
func (c *Clock) World(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.world(stepped(t, -c.ahead))
}

func (c *Clock) world(t time.Time) time.Time {
	s := c.stretch
	for i := len(c.past); i > 0 && t.Before(s.shown); i-- {
		s = c.past[i-1]
	}
	d := t.Sub(s.shown)
	if s.rate != 1 {
		d = time.Duration(math.Ceil(float64(d) / s.rate))
	}
	return s.base.Add(d)
}

// Rate makes the clock run at rate times the bubble's time from now on: 1.01 gains ten milliseconds a second. It
// must be above 0.
func (c *Clock) Rate(rate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if rate <= 0 {
		panic("simnet: a clock's rate must be above 0")
	}
	now := time.Now()
	c.begin(stretch{base: now, shown: c.running(now), rate: rate})
}

// begin begins a stretch. The caller holds mu.
func (c *Clock) begin(s stretch) {
	c.past = append(c.past, c.stretch)
	c.stretch = s
	for t := range c.timers {
		t.arm()
	}
}

// SetAhead sets the time of day ahead by d, or back if d is negative. It does not change when timers fire. After
// Monotonic, durations between two of the clock's times stay right too.
func (c *Clock) SetAhead(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// Monotonic gives the clock's times a monotonic reading, which times in a bubble lack. It must be called before the
// first Now. Its times must not be compared with those of another clock.
func (c *Clock) Monotonic() {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.shown
	parts := (*parts)(unsafe.Pointer(t))
	parts.wall = monotonic | uint64(t.Unix()-since1885)<<30 | uint64(t.Nanosecond())
	parts.ext = int64(time.Hour)
}

// stepped returns t with another time of day and the same monotonic reading, if it has one.
func stepped(t time.Time, d time.Duration) time.Time {
	t = t.Add(d)
	if parts := (*parts)(unsafe.Pointer(&t)); parts.wall&monotonic != 0 {
		parts.ext -= int64(d)
	}
	return t
}

// parts has the layout of a time.Time. Package time has no function that changes the time of day alone.
type parts struct {
	wall uint64 // 1 bit, monotonic: it has a monotonic part; 33 bits: seconds since 1885; 30 bits: nanoseconds
	ext  int64  // the monotonic part, in nanoseconds
	_    *time.Location
}

const monotonic = 1 << 63

var since1885 = time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()

// Freeze stops the clock: Now stands still, and no timer fires.
func (c *Clock) Freeze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.frozen {
		c.still, c.frozen = c.running(time.Now()), true
	}
}

// Thaw ends Freeze. Now jumps to the time that it would show without Freeze, and the timers that were due fire in
// order.
func (c *Clock) Thaw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.frozen {
		return
	}
	c.frozen = false
	var late []*timer
	for t := range c.timers {
		if t.missed {
			late = append(late, t)
		}
	}
	slices.SortFunc(late, func(a, b *timer) int { return a.when.Compare(b.when) })
	for _, t := range late {
		t.missed = false
		delete(c.timers, t)
		go t.f()
	}
}

// Suspend stops the clock as Linux does while the machine sleeps: until Resume Now stands still, and no timer fires.
func (c *Clock) Suspend() {
	c.Freeze()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asleep = time.Now()
}

// Resume ends Suspend. The clock and its timers continue from where they stopped. Suspended grows by the missed time.
func (c *Clock) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asleep.IsZero() {
		return
	}
	now := time.Now()
	c.slept += now.Sub(c.asleep)
	c.asleep, c.frozen = time.Time{}, false
	c.begin(stretch{base: now, shown: c.still, rate: c.rate})
}

// Suspended returns the total time for which the clock was suspended.
func (c *Clock) Suspended() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slept
}

// Frozen reports whether the clock stands still.
func (c *Clock) Frozen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.frozen
}

// AfterFunc runs f in its own goroutine once the clock shows d more than now.
func (c *Clock) AfterFunc(d time.Duration, f func()) clock.Timer {
	yield()
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{clock: c, f: f, when: c.now().Add(d)}
	c.timers[t] = struct{}{}
	t.arm()
	return t
}

// timer is a pending call. All its fields are guarded by the clock's mutex.
type timer struct {
	clock  *Clock
	f      func()
	when   time.Time
	alarm  *time.Timer // in the bubble's time
	turn   int         // which setting of the alarm counts
	missed bool        // due while the clock was frozen
}

// arm sets the timer of the bubble for when. The caller holds the clock's mutex.
func (t *timer) arm() {
	if t.alarm != nil {
		t.alarm.Stop()
	}
	t.turn++
	turn := t.turn
	t.missed = false
	left := time.Until(t.clock.world(t.when))
	if t.clock.rate != 1 {
		left++ // rounding: never early
	}
	t.alarm = time.AfterFunc(left, func() { t.fire(turn) })
}

func (t *timer) fire(turn int) {
	t.clock.mu.Lock()
	_, pending := t.clock.timers[t]
	switch {
	case !pending || turn != t.turn:
		t.clock.mu.Unlock()
		return
	case t.clock.frozen:
		t.missed = true
		t.clock.mu.Unlock()
		return
	}
	delete(t.clock.timers, t)
	t.clock.mu.Unlock()
	t.f()
}

func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	_, pending := t.clock.timers[t]
	delete(t.clock.timers, t)
	t.alarm.Stop()
	return pending
}

func (t *timer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	_, pending := t.clock.timers[t]
	t.clock.timers[t] = struct{}{}
	t.when = t.clock.now().Add(d)
	t.arm()
	return pending
}
