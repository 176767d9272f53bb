package quorum_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/quorum"
)

// TestEveryReleaseWakesTheWaiter tries the orders in which the nodes release a lock, their messages arrive, and the
// waiter's attempts and probes are executed and answered. It tries every order if there are few, and many otherwise.
// The lock is released on a bare majority of the nodes. Some nodes may have sent another message before. The other
// nodes are down, or never release. In every order, the waiter must start an attempt when a majority is free.
func TestEveryReleaseWakesTheWaiter(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3, 5} {
		for down := range n/2 + 1 {
			for early := range n + 1 {
				t.Run(fmt.Sprintf("%d nodes, %d down, %d early messages", n, down, early), func(t *testing.T) {
					t.Parallel()
					m := newModel(n, down, early)
					if n*early < 9 && n <= 3 {
						e := &explorer{t: t, seen: make(map[string]bool)}
						e.explore(m)
						t.Logf("%d states", len(e.seen))
						return
					}
					for seed := range uint64(3000) {
						walk(t, m.clone(), rand.New(rand.NewPCG(seed, 1)))
					}
				})
			}
		}
	}
}

// explorer visits every state that a model can reach.
type explorer struct {
	t    *testing.T
	seen map[string]bool
	path []string
}

func (e *explorer) explore(m *modelState) {
	key := m.key()
	if e.seen[key] || e.t.Failed() {
		return
	}
	e.seen[key] = true
	steps := m.steps()
	for _, s := range steps {
		next := m.clone()
		s.change(next)
		e.path = append(e.path, s.name)
		e.explore(next)
		e.path = e.path[:len(e.path)-1]
	}
	if len(steps) == 0 && m.waiter != succeeded && !e.t.Failed() {
		e.t.Errorf("the waiter was not woken: %s", strings.Join(e.path, ", "))
	}
}

// walk takes random steps until there are none left.
func walk(t *testing.T, m *modelState, random *rand.Rand) {
	t.Helper()
	var path []string
	for steps := m.steps(); len(steps) > 0; steps = m.steps() {
		s := steps[random.IntN(len(steps))]
		s.change(m)
		path = append(path, s.name)
	}
	if m.waiter != succeeded {
		t.Fatalf("the waiter was not woken: %s", strings.Join(path, ", "))
	}
}

// The phases of the model's waiter.
const (
	waits = iota
	attempts
	denies // the attempt was denied, and the probe starts next
	probes
	retries // the probe found a majority free: the waiter tries again by itself
	succeeded
)

// modelState is a waiter and its nodes.
type modelState struct {
	n, need  int
	nodes    []modelNode
	notifier *quorum.MajorityNotifier

	waiter   int
	granting int // attempts: how many nodes were free when the attempt began
	granted  int // probes: the votes
	denied   int
	voted    int
	asked    uint64 // probes: the number of the last message when the probe began
}

type modelNode struct {
	releases bool // it releases the lock at some time
	down     bool
	free     bool
	messages int // on their way to the waiter
	probes   []modelProbe
}

// modelProbe is a probe on its way to a node, or its vote on the way back.
type modelProbe struct {
	asked   uint64
	current bool // of the probe for which the waiter waits
	voted   bool
	granted bool
}

// newModel returns a waiter that waits for a lock on n nodes. A majority will release it. The last nodes are down, and
// the first ones have sent an early message.
func newModel(n, down, early int) *modelState {
	m := &modelState{n: n, need: n/2 + 1, waiter: waits}
	m.notifier = quorum.NewMajorityNotifier(n, m.need)
	for i := range n {
		node := modelNode{releases: i < m.need, down: i >= n-down}
		if i < early {
			node.messages = 1
		}
		m.nodes = append(m.nodes, node)
	}
	return m
}

func (m *modelState) clone() *modelState {
	c := *m
	c.notifier = m.notifier.Clone()
	c.nodes = slices.Clone(m.nodes)
	for i := range c.nodes {
		c.nodes[i].probes = slices.Clone(c.nodes[i].probes)
	}
	return &c
}

// step is something that may happen next.
type step struct {
	name   string
	change func(*modelState)
}

// steps returns what may happen next.
func (m *modelState) steps() (all []step) {
	add := func(name string, change func(*modelState)) { all = append(all, step{name, change}) }
	for i, node := range m.nodes {
		if node.releases && !node.free {
			add(fmt.Sprint("release ", i), func(s *modelState) {
				s.nodes[i].free = true
				s.nodes[i].messages++
			})
		}
		if node.messages > 0 {
			add(fmt.Sprint("message ", i), func(s *modelState) { s.message(i) })
		}
		if k := slices.IndexFunc(node.probes, func(p modelProbe) bool { return !p.voted }); k >= 0 {
			add(fmt.Sprint("probed ", i), func(s *modelState) {
				s.nodes[i].probes[k].voted, s.nodes[i].probes[k].granted = true, s.nodes[i].free
			})
		}
		if len(node.probes) > 0 && node.probes[0].voted {
			add(fmt.Sprint("vote ", i), func(s *modelState) { s.vote(i) })
		}
	}
	switch m.waiter {
	case attempts:
		add("attempted", func(s *modelState) {
			s.waiter = denies
			if s.granting >= s.need {
				s.waiter = succeeded
			}
		})
	case denies:
		add("probe", (*modelState).startProbe)
	case retries:
		add("retry", (*modelState).begin)
	}
	return all
}

func (m *modelState) message(i int) {
	m.nodes[i].messages--
	m.notifier.Message(i)
	if m.waiter == waits && m.notifier.Take() {
		m.begin()
	}
}

func (m *modelState) begin() {
	m.waiter, m.granting = attempts, 0
	for _, node := range m.nodes {
		if node.free {
			m.granting++
		}
	}
}

func (m *modelState) startProbe() {
	m.waiter, m.granted, m.denied, m.voted, m.asked = probes, 0, 0, 0, m.notifier.Last()
	for i := range m.nodes {
		for k := range m.nodes[i].probes {
			m.nodes[i].probes[k].current = false
		}
		p := modelProbe{asked: m.asked, current: true, voted: m.nodes[i].down}
		m.nodes[i].probes = append(m.nodes[i].probes, p)
	}
}

// vote delivers the oldest vote of a node.
func (m *modelState) vote(i int) {
	p := m.nodes[i].probes[0]
	m.nodes[i].probes = m.nodes[i].probes[1:]
	if !p.granted {
		m.notifier.Discount(i, p.asked)
	}
	if !p.current || m.waiter != probes {
		return
	}
	m.voted++
	switch {
	case p.granted:
		m.granted++
	case !m.nodes[i].down:
		m.denied++
	}
	switch {
	case m.granted >= m.need:
		m.notifier.MajorityFree(m.asked)
		m.waiter = retries
	case m.denied >= m.need, m.voted == m.n:
		m.waiter = waits
		if m.notifier.Take() {
			m.begin()
		}
	}
}

// key identifies the state. Only the order of the message numbers matters, and not which of several equal nodes is in
// which state.
func (m *modelState) key() string {
	received, discounted, last, woken := m.notifier.Numbers()
	numbers := slices.Concat(received, discounted, []uint64{last, woken, m.asked})
	for _, node := range m.nodes {
		for _, p := range node.probes {
			numbers = append(numbers, p.asked)
		}
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	rank := func(number uint64) int { return slices.Index(numbers, number) }
	var nodes []string
	for i, node := range m.nodes {
		var probes []string
		for _, p := range node.probes {
			probes = append(probes, fmt.Sprint(rank(p.asked), p.current, p.voted, p.granted))
		}
		nodes = append(
			nodes, fmt.Sprint(
				node.releases, node.down, node.free, node.messages, rank(received[i]), rank(discounted[i]), probes,
			),
		)
	}
	slices.Sort(nodes)
	asked := 0
	if m.waiter == probes {
		asked = rank(m.asked)
	}
	return fmt.Sprint(m.waiter, m.granting, m.granted, m.denied, m.voted, asked, rank(last), rank(woken), nodes)
}
