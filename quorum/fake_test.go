package quorum_test

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDown = errors.New("down")

// Votes as masters give them.
func granted() *wire.Vote { return &wire.Vote{Verdict: wire.Granted} }
func denied() *wire.Vote  { return &wire.Vote{Verdict: wire.Denied} }
func healed() *wire.Vote  { return &wire.Vote{Verdict: wire.Denied, Healed: true} }
func failed() *wire.Vote  { return &wire.Vote{Verdict: wire.Failed, Err: errDown} }
func unsent() *wire.Vote  { return &wire.Vote{Verdict: wire.Failed, Err: errDown, Unsent: true} }
func unknown() *wire.Vote { return &wire.Vote{Verdict: wire.Unknown, Err: node.ErrTimeout} }

func from(runID string, v *wire.Vote) *wire.Vote {
	v.Server = &link.Server{RunID: runID}
	return v
}

// fake is a quorum.Node that does what a test says: answer at once as script says, or keep calls until vote is called.
type fake struct {
	name string

	mu          sync.Mutex
	script      func(op string) *wire.Vote // nil, or a nil vote: keep the call
	calls       []*wire.Call
	spawn       func(func() error)
	onHealth    func(error)
	suspect     bool
	bindErr     error
	subscribers map[string][]func(string)
	stopped     int
	left        int // what Close reports
	closeBy     time.Time
}

var _ quorum.Node = (*fake)(nil)

func (f *fake) Name() string { return f.name }

func (f *fake) Bind(spawn func(func() error), onHealth func(error)) error {
	f.spawn, f.onHealth = spawn, onHealth
	return f.bindErr
}

func (f *fake) Submit(c *wire.Call) {
	f.mu.Lock()
	f.calls = append(f.calls, c)
	script := f.script
	f.mu.Unlock()
	if script == nil {
		return
	}
	if v := script(c.Op.Name); v != nil {
		c.Voter.Vote(int(c.Index), *v)
	}
}

func (f *fake) Suspect() bool { return f.suspect }

func (f *fake) Listen(channel string, notify func(string)) (stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers[channel] = append(f.subscribers[channel], notify)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.stopped++
	}
}

func (f *fake) Close(deadline time.Time) int {
	f.closeBy = deadline
	return f.left
}

// answers has every call from now on answered at once; with a nil vote, kept.
func (f *fake) answers(v *wire.Vote) { f.script = func(string) *wire.Vote { return v } }

// asked returns the calls of one operation.
func (f *fake) asked(op string) []*wire.Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	var some []*wire.Call
	for _, c := range f.calls {
		if c.Op.Name == op {
			some = append(some, c)
		}
	}
	return some
}

// vote answers the latest call of one operation.
func (f *fake) vote(t testing.TB, op string, v *wire.Vote) {
	t.Helper()
	calls := f.asked(op)
	require.NotEmpty(t, calls, "%s was not asked to %s", f.name, op)
	c := calls[len(calls)-1]
	c.Voter.Vote(int(c.Index), *v)
}

// ops are operations without arguments: the fakes look only at their names.
type ops struct{}

func (ops) Overlaps() bool { return false }
func (ops) Acquire(_ *quorum.Terms, asked time.Time) *wire.Op {
	return wire.Command("acquire", nil, asked.UnixMicro())
}
func (ops) Extend(*quorum.Terms, int64) *wire.Op    { return wire.Command("extend", nil) }
func (ops) Raise(_ *quorum.Terms, f int64) *wire.Op { return wire.Command("raise", nil, f) }
func (ops) Release(bool) *wire.Op                   { return wire.Command("release", nil) }
func (ops) Keep(time.Duration) *wire.Op             { return wire.Command("release", nil, "keep") }

var terms = quorum.Terms{
	TTL: 10 * time.Second, Drift: 102 * time.Millisecond, Timeout: 50 * time.Millisecond, Window: 11 * time.Second,
}

// council returns a quorum of n fakes, A, B, C and so on.
func council(t testing.TB, n int, change ...func(*quorum.Config)) (*quorum.Quorum, []*fake) {
	t.Helper()
	cfg := quorum.Config{Clock: clock.System}
	var fakes []*fake
	for i := range n {
		f := &fake{name: string(rune('A' + i)), subscribers: make(map[string][]func(string))}
		fakes = append(fakes, f)
		cfg.Nodes = append(cfg.Nodes, f)
	}
	for _, f := range change {
		f(&cfg)
	}
	q, err := quorum.New(cfg)
	require.NoError(t, err)
	return q, fakes
}

// inCouncil is a parallel test in a bubble, with a council.
func inCouncil(t *testing.T, n int, f func(t *testing.T, q *quorum.Quorum, fakes []*fake)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, fakes := council(t, n)
		f(t, q, fakes)
	})
}

// subCouncil is inCouncil in a subtest.
func subCouncil(t *testing.T, name string, n int, f func(t *testing.T, q *quorum.Quorum, fakes []*fake)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { inCouncil(t, n, f) })
}

// outcome is what Acquire returned.
type outcome struct {
	lease *quorum.Lease
	err   error
}

// acquire calls Acquire in a goroutine of a bubble, and returns once every goroutine waits.
func acquire(t *testing.T, q *quorum.Quorum, first int) <-chan outcome {
	t.Helper()
	return asking{first: first}.acquire(t, q)
}

// asking is a call of Acquire. What is not set is as usual.
type asking struct {
	ctx      context.Context
	ops      quorum.Ops
	terms    *quorum.Terms
	first    int
	failures *quorum.PermanentFailures
}

func (a asking) acquire(t *testing.T, q *quorum.Quorum) <-chan outcome {
	t.Helper()
	if a.ctx == nil {
		a.ctx = t.Context()
	}
	if a.ops == nil {
		a.ops = ops{}
	}
	a.terms, a.failures = cmp.Or(a.terms, &terms), cmp.Or(a.failures, new(quorum.PermanentFailures))
	out := make(chan outcome, 1)
	go func() {
		lease, err := q.Acquire(a.ctx, a.ops, a.terms, a.first, a.failures)
		out <- outcome{lease, err}
	}()
	synctest.Wait()
	return out
}

// pending fails the test if there is an outcome already.
func pending(t *testing.T, out <-chan outcome, why string) {
	t.Helper()
	synctest.Wait()
	select {
	case o := <-out:
		t.Fatalf("decided too early, %s: %v", why, o.err)
	default:
	}
}

// decided returns the outcome that must be there.
func decided(t *testing.T, out <-chan outcome) outcome {
	t.Helper()
	synctest.Wait()
	select {
	case o := <-out:
		return o
	default:
		t.Fatal("not decided yet")
		return outcome{}
	}
}

// answer has each node answer every call from now on with a vote.
func answer(fakes []*fake, votes ...*wire.Vote) {
	for i, v := range votes {
		fakes[i].answers(v)
	}
}

// answerAll has all nodes answer every call from now on with the same vote, or keep it if the vote is nil.
func answerAll(fakes []*fake, v *wire.Vote) {
	for _, f := range fakes {
		f.answers(v)
	}
}

// acquired returns a lease. The nodes answer at once.
func acquired(t testing.TB, q *quorum.Quorum, terms *quorum.Terms) *quorum.Lease {
	t.Helper()
	lease, err := q.Acquire(t.Context(), ops{}, terms, quorum.NoFirst, new(quorum.PermanentFailures))
	require.NoError(t, err)
	return lease
}

// held returns a lease that all nodes granted. They keep all later calls until vote is called.
func held(t *testing.T, q *quorum.Quorum, fakes []*fake) *quorum.Lease {
	t.Helper()
	answerAll(fakes, granted())
	lease := acquired(t, q, &terms)
	answerAll(fakes, nil)
	return lease
}

// permutations calls f with every order of n things.
func permutations(n int, f func(order []int)) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var rec func(int)
	rec = func(k int) {
		if k == n {
			f(order)
			return
		}
		for i := k; i < n; i++ {
			order[k], order[i] = order[i], order[k]
			rec(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	rec(0)
}
