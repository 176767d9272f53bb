package wire_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const (
	// comparing is the number of connections that a node makes to one server only to compare it. They ask for INFO once.
	comparing = 1
	// timeout is the deadline of a call, unless a test says otherwise.
	timeout = 100 * time.Millisecond
	// ttl outlives every fault of these tests, so that no key goes away by itself.
	ttl = 30 * time.Second
)

// rig is one node, bound as a quorum binds it, with a record of its reports.
type rig struct {
	t      *testing.T
	world  *simnet.Net
	m      *simnet.Master // the node's
	first  func() *hole   // the node's first connection, if inHole made the rig
	client *redis.Client  // if inBubbleWrapped made the rig
	node   *wire.Node
	group  errgroup.Group
	slack  time.Duration // how late a vote may be: 0 in a bubble

	mu       sync.Mutex
	asked    []*ticket
	reported []error
	events   []simnet.Event // but for the handshakes
}

// inBubble runs f in a bubble, in parallel with other tests, with one master and a node for it. Afterwards the node
// must close, every call must have had exactly one vote, and no goroutine and no connection may be left.
func inBubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	inBubbleOver(t, func(dial node.Dialer) node.Dialer { return dial }, f)
}

// inBubbleOver is inBubble with connections that over changes.
func inBubbleOver(t *testing.T, over func(node.Dialer) node.Dialer, f func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		f(t, newRig(t, w, w.Master(0).URL(), node.WithDialer(over(w.Dial))))
	})
}

// inBubbles is inBubble for each case.
func inBubbles[C any](t *testing.T, cases map[string]C, f func(t *testing.T, r *rig, c C)) {
	t.Helper()
	inEach(t, inBubble, cases, f)
}

// world runs f with a node, as inBubble does.
type world func(t *testing.T, f func(t *testing.T, r *rig))

// inEach runs f in a world for each case.
func inEach[C any](t *testing.T, in world, cases map[string]C, f func(t *testing.T, r *rig, c C)) {
	t.Helper()
	t.Parallel()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { in(t, func(t *testing.T, r *rig) { f(t, r, c) }) })
	}
}

// inEmptyBubbles runs f in a bubble without a master for each case.
func inEmptyBubbles[C any](t *testing.T, cases map[string]C, f func(t *testing.T, c C)) {
	t.Helper()
	t.Parallel()
	testmain.Each(t, cases, func(t *testing.T, c C) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) { f(t, c) })
	})
}

// named returns cases that are named after their text.
func named[C any](cases ...C) map[string]C {
	all := make(map[string]C, len(cases))
	for _, c := range cases {
		all[fmt.Sprint(c)] = c
	}
	return all
}

// newRig makes a rig for the master at a URL, which is in w unless w is nil.
func newRig(t *testing.T, w *simnet.Net, url string, opts ...node.Option) *rig {
	t.Helper()
	n, err := node.Open(url, opts...)
	require.NoError(t, err)
	return bind(t, w, n)
}

func bind(t *testing.T, w *simnet.Net, of *node.Node) *rig {
	t.Helper()
	n := wire.New(of)
	r := &rig{t: t, world: w, node: n}
	if w != nil {
		r.m = w.Master(0)
		w.Watch(r.watch)
	}
	require.NoError(t, n.Bind(r.group.Go, func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.reported = append(r.reported, err)
	}))
	t.Cleanup(func() {
		n.Close(time.Now().Add(time.Second))
		require.NoError(t, r.group.Wait())
		for _, tk := range r.asked {
			if n := tk.votes.Load(); n != 1 {
				t.Errorf("call %d, %s, got %d votes", tk.call.Index, tk.call.Op.Name, n)
				break
			}
		}
	})
	return r
}

func (r *rig) watch(e simnet.Event) {
	switch e.Args[0] {
	case "hello", "info", "client", "subscribe", "unsubscribe":
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// executed returns what the master has executed, in order, without handshakes.
func (r *rig) executed() []simnet.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]simnet.Event(nil), r.events...)
}

// batches returns how many of them arrived at each moment. With a delay on the wire, each moment is one batch.
func (r *rig) batches() (sizes []int) {
	var last time.Time
	for _, e := range r.executed() {
		if !e.At.Equal(last) {
			sizes = append(sizes, 0)
		}
		last = e.At
		sizes[len(sizes)-1]++
	}
	return sizes
}

// healthReports returns the node's reports about its health: "suspect" or "well".
func (r *rig) healthReports() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, err := range r.reported {
		if err == nil {
			all = append(all, "well")
		} else {
			all = append(all, "suspect")
		}
	}
	return all
}

// ticket is one call, and its voter.
type ticket struct {
	rig       *rig
	call      *wire.Call
	votes     atomic.Int64
	delivered chan struct{} // closed when the vote has arrived
	vote      wire.Vote
	at        time.Time // of the vote
}

// Vote receives the only vote of the call.
func (tk *ticket) Vote(index int, v wire.Vote) {
	if n := tk.votes.Add(1); n > 1 {
		tk.rig.t.Errorf("call %d (%s) got vote %d: %v", tk.call.Index, tk.call.Op.Name, n, v)
		return
	}
	if index != int(tk.call.Index) {
		tk.rig.t.Errorf("call %d got the vote of %d", tk.call.Index, index)
	}
	tk.at, tk.vote = time.Now(), v
	close(tk.delivered)
}

// ask submits a call that is due after timeout, as adjusted.
func (r *rig) ask(op *wire.Op, adjust ...func(*wire.Call)) *ticket {
	r.t.Helper()
	now := time.Now()
	c := &wire.Call{Request: &wire.Request{Op: op, Asked: now, Deadline: now.Add(timeout)}}
	for _, f := range adjust {
		f(c)
	}
	tk := &ticket{rig: r, call: c, delivered: make(chan struct{})}
	c.Voter = tk
	r.mu.Lock()
	c.Index = uint16(len(r.asked))
	r.asked = append(r.asked, tk)
	r.mu.Unlock()
	r.node.Submit(c)
	return tk
}

// result waits for the vote. It fails the test if the vote arrives after the call's deadline.
func (tk *ticket) result() wire.Vote {
	t, r := tk.rig.t, tk.rig
	t.Helper()
	<-tk.delivered
	assert.False(t, tk.at.After(tk.call.Deadline.Add(r.slack)), "the vote of call %d, %s, came %v after its deadline",
		tk.call.Index, tk.call.Op.Name, tk.at.Sub(tk.call.Deadline))
	assert.GreaterOrEqual(t, tk.vote.Took, time.Duration(0))
	assert.LessOrEqual(t, tk.vote.Took, tk.at.Sub(tk.call.Asked))
	return tk.vote
}

// requireGranted requires that every call is granted.
func requireGranted(t *testing.T, all ...*ticket) {
	t.Helper()
	for _, tk := range all {
		v := tk.result()
		require.Equal(t, wire.Granted, v.Verdict, "call %d, %s: %v", tk.call.Index, tk.call.Op.Name, v.Err)
	}
}

// assertUnsent asserts that a call failed because of err, and was certainly not sent.
func assertUnsent(t *testing.T, v wire.Vote, err error) {
	t.Helper()
	assert.Equal(t, wire.Failed, v.Verdict)
	assert.True(t, v.Unsent)
	require.ErrorIs(t, v.Err, err)
}

// voted reports whether the vote has arrived.
func (tk *ticket) voted() bool { return tk.votes.Load() > 0 }

// warm makes the node connect.
func (r *rig) warm() {
	r.t.Helper()
	requireGranted(r.t, r.ask(acquire("warm", "warm"), within(10*time.Second)))
	requireGranted(r.t, r.ask(release("warm", "warm"), within(10*time.Second)))
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = nil
}

// occupy keeps the driver busy for a round trip, so that the next calls wait and are sent as one batch. A driver that
// rests may send the first of several calls alone. There must be a delay on the wire.
func (r *rig) occupy() {
	r.t.Helper()
	ahead := r.ask(echo(), within(10*time.Second))
	synctest.Wait()
	require.False(r.t, ahead.voted(), "there is no delay")
}

// warmAt makes the node connect to a master that is a round trip away.
func (r *rig) warmAt(trip time.Duration) {
	r.t.Helper()
	r.m.Delay(trip/2, 0)
	r.warm()
}

// eventually waits for a condition, in the bubble's time.
func (r *rig) eventually(within time.Duration, what string, cond func() bool) {
	r.t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(time.Millisecond) {
		synctest.Wait()
		if cond() {
			return
		}
		if !time.Now().Before(end) {
			require.FailNow(r.t, "not within "+within.String()+": "+what)
		}
	}
}

// answers waits until an acquire of a name is answered.
func (r *rig) answers(within time.Duration, name string) {
	r.t.Helper()
	r.eventually(within, "an answer", func() bool { return r.ask(acquire(name, "me")).result().Verdict.Answered() })
}

// gone reports whether the master has no key.
func (r *rig) gone() bool { return len(r.m.Keys()) == 0 }

func within(d time.Duration) func(*wire.Call) {
	return func(c *wire.Call) { c.Deadline = c.Asked.Add(d) }
}

// durably adjusts a release whose acquire may be in flight.
func durably(c *wire.Call) { c.Durable, c.KeyTTL = true, ttl }

func canceledBy(canceled *atomic.Bool) func(*wire.Call) {
	return func(c *wire.Call) { c.Canceled = canceled }
}

func window(d time.Duration) func(*wire.Call) {
	return func(c *wire.Call) { c.Window = d }
}

var (
	releaseScript = wire.NewScript(
		`if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end redis.call('DEL', KEYS[1]) return 1`,
	)
	extendScript = wire.NewScript(`local held = redis.call('GET', KEYS[1])
if held == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 1 end
if held == false then redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) return -1 end
return 0`)
)

func acquire(name, token string) *wire.Op {
	return wire.Command("acquire", nil, "set", name, token, "nx", "px", ttl.Milliseconds())
}

func release(name, token string) *wire.Op {
	return releaseScript.Op("release", nil, []string{name}, token)
}

func extend(name, token string) *wire.Op {
	return extendScript.Op("extend", nil, []string{name}, token, ttl.Milliseconds())
}

func token(i int) string { return fmt.Sprintf("token-%d", i) }

// count is an operation of few bytes, so that a batch of it is one write.
func count() *wire.Op { return wire.Command("count", wire.ReadNumber, "incr", "n") }

// echo is an operation without a key. Every reply grants it.
func echo() *wire.Op {
	return wire.Command("echo", func(any) wire.Vote { return wire.Vote{Verdict: wire.Granted} }, "echo", "x")
}
