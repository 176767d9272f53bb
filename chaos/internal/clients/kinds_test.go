package clients_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/clients"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/register"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/redlocktest"
)

var stop = func(int) traffic.Command { return traffic.Command{Do: traffic.Stop} }

// registers runs both registers, and writes their history next to that of the fleet.
func registers(t *testing.T, f *clients.Fleet) map[string]string {
	t.Helper()
	addrs := map[string]string{}
	for _, kind := range []string{history.Trusting, history.Fenced} {
		r, err := register.Start(kind, filepath.Join(f.Dir, "register-"+kind+".jsonl"))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, r.Close()) })
		addrs[kind] = r.Addr()
	}
	return addrs
}

// withRegisters has the clients of a fleet find the registers.
func withRegisters(t *testing.T, f *clients.Fleet) {
	t.Helper()
	addrs, configure := registers(t, f), f.Configure
	f.Configure = func(i int) traffic.Config {
		c := configure(i)
		c.Registers = addrs
		return c
	}
}

func read(t *testing.T, f *clients.Fleet) []history.Event {
	t.Helper()
	events, err := history.ReadDir(f.Dir)
	require.NoError(t, err)
	return events
}

// has returns how many events are like that.
func has(events []history.Event, is like) int {
	n := 0
	for _, e := range events {
		if is(e) {
			n++
		}
	}
	return n
}

// lostWrites returns how many updates each register lost, by register and name: writes that were computed from another
// value than the one before.
func lostWrites(events []history.Event) map[string]int {
	return lostBy(events, func(history.Event, history.Event) bool { return true })
}

// lostInTime returns the updates that registers lost although both writers held their locks when they wrote. A client
// that did not run for longer than its TTL, as on a busy machine, writes after its lock has ended: a register without
// tokens takes that write.
func lostInTime(events []history.Event) map[string]int {
	until := map[history.ID]time.Duration{}
	for _, e := range events {
		if e.Kind == history.Acquired || e.Kind == history.Extended {
			until[e.ID()] = e.Until
		}
	}
	held := func(e history.Event) bool {
		return e.Kind == "" || e.Register == history.Fenced || e.T < until[e.ID()]
	}
	return lostBy(events, func(before, e history.Event) bool { return held(before) && held(e) })
}

// lostBy counts the lost updates for which counts returns true, given the write before, the zero Event if
// there is none, and the one that ignored it.
func lostBy(events []history.Event, counts func(before, e history.Event) bool) map[string]int {
	type counter struct{ register, name string }
	last, lost := map[counter]history.Event{}, map[string]int{}
	for _, e := range events {
		if c := (counter{e.Register, e.Name}); e.Kind == history.Written {
			if before := last[c]; e.From != before.Value && counts(before, e) {
				lost[e.Register+" "+e.Name]++
			}
			last[c] = e
		}
	}
	return lost
}

func TestALostUpdateIsExcusedOnlyByALateWrite(t *testing.T) {
	t.Parallel()
	holds := []history.Event{
		{T: 1, Kind: history.Acquired, Client: "a", Until: 10},
		{T: 2, Kind: history.Acquired, Client: "b", Until: 30},
		{T: 3, Kind: history.Extended, Client: "b", Until: 40},
	}
	write := func(at time.Duration, client, register string) history.Event {
		return history.Event{T: at, Kind: history.Written, Client: client, Register: register, Value: 1}
	}
	for name, tt := range map[string]struct {
		writes []history.Event
		lost   int
	}{
		"both in time":       {[]history.Event{write(8, "a", history.Trusting), write(9, "b", history.Trusting)}, 1},
		"after an extension": {[]history.Event{write(8, "a", history.Trusting), write(39, "b", history.Trusting)}, 1},
		"the second is late": {[]history.Event{write(8, "b", history.Trusting), write(10, "a", history.Trusting)}, 0},
		"the first is late":  {[]history.Event{write(10, "a", history.Trusting), write(11, "b", history.Trusting)}, 0},
		"late, with tokens":  {[]history.Event{write(8, "b", history.Fenced), write(10, "a", history.Fenced)}, 1},
	} {
		events := slices.Concat(holds, tt.writes)
		n := 0
		for _, lost := range lostInTime(events) {
			n += lost
		}
		assert.Equal(t, tt.lost, n, name)
		assert.Len(t, lostWrites(events), 1, name)
	}
}

// lists are the ready-made groups by their names.
var lists = map[string][]traffic.Group{
	"default": traffic.Groups, "mutexes": traffic.Mutexes, "readers-writers": traffic.ReadersAndWriters,
	"reentrants": traffic.Reentrants, "severals": traffic.Severals, "semaphores": traffic.Semaphores,
	"jobs": traffic.Jobs, "elections": traffic.Elections, "fenced": traffic.FencedMutexes,
	"everything": traffic.Everything,
}

func TestTheListsAreInOrder(t *testing.T) {
	t.Parallel()
	for name, groups := range lists {
		assert.NotEmpty(t, groups, name)
		assert.NotEmpty(t, traffic.Names("", groups), name)
	}
	seen := map[string]bool{}
	for _, g := range traffic.Everything {
		for _, n := range g.Names {
			assert.False(t, seen[n], "%q is used with two meanings", n)
			seen[n] = true
		}
	}
	assert.Equal(t, []string{"p:from", "p:left", "p:right"}, traffic.Names("p:", []traffic.Group{
		{Names: []string{"left", "right"}}, {Names: []string{"from", "right"}}, {Names: []string{"mine"}, Own: true},
	}))
}

// like is what an event looks like.
type like = func(history.Event) bool

func in(kind history.Kind, mode string) like {
	return func(e history.Event) bool { return e.Kind == kind && e.Mode == mode }
}

func at(kind history.Kind, name string) like {
	return func(e history.Event) bool { return e.Kind == kind && e.Name == "test:"+name }
}

// Every list, in a storm without faults. One after the other: each takes what a busy machine has.
func TestEveryListWritesItsHistory(t *testing.T) {
	t.Parallel()
	fenced := func(e history.Event) bool {
		return e.Kind == history.Written && e.Register == history.Fenced && e.Fence > 0
	}
	tests := map[string]struct {
		seen map[string]like
		calm string // a mode to pass in at the end
		name string
	}{
		"mutexes": {
			map[string]like{
				"a loss": at(history.Lost, "overstayed"), "an extension": at(history.Extended, "brief"),
				"a write": at(history.Written, "trusted"), "a name of its own": at(history.Acquired, "alone2:c1"),
				"a denial": func(e history.Event) bool { return e.Kind == history.Refused && said(e, "denied") > 0 },
			}, "", "plain",
		},
		"readers-writers": {
			map[string]like{
				"a reader": in(history.Acquired, kinds.Reader), "a writer": in(history.Acquired, kinds.Writer),
				"a reader's look": in(history.Read, kinds.Reader),
				"a write":         at(history.Written, "doc-brief"), "a fenced write": fenced,
			}, kinds.Reader, "doc",
		},
		"reentrants": {
			map[string]like{
				"an owned one": func(e history.Event) bool { return e.Kind == history.Acquired && e.Owner != "" },
				"a write":      at(history.Written, "account-brief"), "a fenced write": fenced,
			}, kinds.Reentrant, "account",
		},
		"severals": {
			map[string]like{
				"three":   func(e history.Event) bool { return e.Kind == history.Acquired && len(e.Names) == 3 },
				"a token": func(e history.Event) bool { return e.Kind == history.Acquired && len(e.Names) == 2 && e.Fence > 0 },
			}, kinds.Writer, "to",
		},
		"semaphores": {
			map[string]like{
				"a permit": in(history.Acquired, kinds.Semaphore), "an extension": at(history.Extended, "pool"),
				"a token": func(e history.Event) bool {
					return at(history.Acquired, "pool-fenced")(e) && e.Slots == 2 && e.Fence > 0
				},
			}, kinds.Mutex, "pool",
		},
		"jobs": {
			map[string]like{
				"a minimum hold": func(e history.Event) bool {
					return at(history.Acquired, "job")(e) && e.MinHold == traffic.MinHold
				},
				"a writer's": in(history.Acquired, kinds.Writer), "a write": at(history.Written, "job-brief"),
				"three": func(e history.Event) bool { return e.Kind == history.Acquired && len(e.Names) == 3 },
			}, kinds.Mutex, "job",
		},
		"elections": {
			map[string]like{
				"a leader": in(history.Acquired, kinds.Leader), "a leader's write": at(history.Written, "leader"),
				"a deposed leader's write": at(history.Rejected, "leader-over"),
			}, kinds.Mutex, "leader",
		},
		"fenced": {
			map[string]like{
				"a fenced write": fenced, "a rejected write": at(history.Rejected, "fenced-over"),
				"a trusting one":    at(history.Written, "unfenced-over"),
				"one asked for":     func(e history.Event) bool { return at(history.Invoked, "fenced")(e) && e.Fencing },
				"one asked without": func(e history.Event) bool { return at(history.Invoked, "unfenced-over")(e) && !e.Fencing },
			}, kinds.Mutex, "fenced",
		},
	}
	for list, tt := range tests {
		t.Run(list, func(t *testing.T) {
			masters := redlocktest.Start(t, 3)
			f, log := newFleet(t, 2, traffic.Config{
				Lock: traffic.Quorum, URLs: redlocktest.URLs(masters), Groups: lists[list], Seed: 7,
			})
			withRegisters(t, f)
			require.NoError(t, f.StartAll(t.Context()))
			require.Eventually(t, func() bool {
				events := read(t, f)
				for what, like := range tt.seen {
					if has(events, like) == 0 {
						t.Logf("not yet: %s", what)
						return false
					}
				}
				return list != "fenced" || lostWrites(events)["trusting test:unfenced-over"] > 0
			}, 6*soon, 50*look)
			require.NoError(t, f.All(t.Context(), soon, stop))
			require.NoError(t, f.All(t.Context(), 2*soon, func(int) traffic.Command {
				return traffic.Command{
					Do: traffic.Pass, Phase: history.Calm, Mode: tt.calm, Names: []string{"test:" + tt.name},
					TTL: traffic.TTL, Patience: soon,
				}
			}))
			before := len(read(t, f))
			require.NoError(t, f.All(t.Context(), 2*soon, func(int) traffic.Command {
				return traffic.Command{Do: traffic.Round, Phase: history.Calm, TTL: traffic.TTL, Patience: soon}
			}))
			require.NoError(t, f.Quit(t.Context()))
			assert.Empty(t, log.all())

			events := read(t, f)
			goneRound(t, events[before:], f.Names(), lists[list])
			assert.Empty(t, check.WellFormed(events).Findings)
			assert.Zero(t, has(events, func(e history.Event) bool { return e.Kind == history.Broken }))
			assert.Empty(t, lostInTime(events))
			assert.GreaterOrEqual(t, has(events, func(e history.Event) bool {
				return e.Kind == history.Acquired && e.Phase == history.Calm && e.Mode == tt.calm
			}), 2)
			assert.Equal(t, 2, has(events, func(e history.Event) bool {
				return e.Kind == history.Quitting && e.Goroutines == 0
			}))
			voted(t, events)
			if list == "reentrants" {
				nests(t, events)
			}
		})
	}
}

// goneRound asserts that each client acquired once what each group acquires, in each way.
func goneRound(t *testing.T, events []history.Event, clients []string, groups []traffic.Group) {
	t.Helper()
	var want, got []string
	for _, c := range clients {
		for _, g := range groups {
			names, modes := slices.Clone(g.Names), []string{g.Mode}
			for i := range names {
				if names[i] = "test:" + names[i]; g.Own {
					names[i] += ":" + c
				}
			}
			switch g.Mode {
			case "":
				modes = []string{kinds.Mutex}
			case traffic.ReadersWriters:
				modes = []string{kinds.Reader, kinds.Writer}
			case kinds.Several:
				slices.Sort(names)
				names = []string{strings.Join(names, ",")}
			}
			for _, name := range names {
				for _, mode := range modes {
					want = append(want, fmt.Sprint(c, " ", name, " ", mode, " ", g.Fencing))
				}
			}
		}
	}
	for _, e := range events {
		if e.Kind == history.Acquired {
			got = append(got, fmt.Sprint(e.Client, " ", e.Name, " ", e.Mode, " ", e.Fence > 0))
		}
	}
	assert.ElementsMatch(t, want, got)
}

// voted asserts that acquisitions say that a majority granted them: nearly all, because a history attributes votes by
// the name alone, and they may belong to another attempt of the process. Permits are left out: their attempts overlap.
func voted(t *testing.T, events []history.Event) {
	t.Helper()
	all, most := 0, 0
	for _, e := range events {
		if e.Kind == history.Acquired && !kinds.Of(e.Mode).Slotted() {
			all++
			if said(e, "granted") >= 2 {
				most++
			}
		}
	}
	assert.GreaterOrEqual(t, most, all*9/10, "of %d acquisitions", all)
}

// said returns how many masters said that.
func said(e history.Event, verdict string) int {
	n := 0
	for _, v := range e.Votes {
		if v.Verdict == verdict {
			n++
		}
	}
	return n
}

// Everybody holds for twice the TTL. Who is not careless notices, and leaves the register alone.
func TestACarefulHolderDoesNotWriteBehindItsLock(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	g := trusted[0]
	g.Hold = traffic.Hold{Usual: traffic.Span{Least: 2 * g.TTL}}
	f, log := newFleet(
		t, 2, traffic.Config{Lock: traffic.Quorum, URLs: redlocktest.URLs(masters), Groups: []traffic.Group{g}},
	)
	withRegisters(t, f)
	require.NoError(t, f.StartAll(t.Context()))
	require.Eventually(t, func() bool { return has(read(t, f), at(history.Lost, "one")) >= 4 }, soon, 10*look)
	require.NoError(t, f.Kill(t.Context(), 0)) // to be stopped would end a hold in time
	require.NoError(t, f.Kill(t.Context(), 1))
	assert.Empty(t, log.all())
	assert.Zero(t, has(read(t, f), at(history.Written, "one")))
	assert.Positive(t, has(read(t, f), at(history.Read, "one")))
}

// nests asserts that one worker held a reentrant lock three times at once.
func nests(t *testing.T, events []history.Event) {
	t.Helper()
	held, most := map[history.ID]int{}, 0
	for _, e := range events {
		w := e.ID()
		w.Op = 0
		if e.Name != "test:account" {
			continue
		}
		switch e.Kind {
		case history.Acquired:
			held[w]++
			most = max(most, held[w])
		case history.ReleaseCalled:
			held[w]--
		default: // no change
		}
	}
	assert.Equal(t, 3, most)
}

func TestWhatAGroupCannotBe(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		group traffic.Group
		lock  string
		says  string
	}{
		"no names": {traffic.Group{TTL: 1}, traffic.Quorum, "no names"},
		"no TTL":   {traffic.Group{Names: []string{"a"}}, traffic.Quorum, "TTL is 0s"},
		"unknown mode": {
			traffic.Group{Names: []string{"a"}, TTL: 1, Mode: "shared"}, traffic.Quorum, `no mode "shared"`,
		},
		"no owner": {
			traffic.Group{Names: []string{"a"}, TTL: 1, Mode: kinds.Reentrant}, traffic.Quorum, "the owner",
		},
		"one of several": {
			traffic.Group{Names: []string{"a"}, TTL: 1, Mode: kinds.Several}, traffic.Quorum, "at least two",
		},
		"several at a register": {
			traffic.Group{Names: []string{"a", "b"}, TTL: 1, Mode: kinds.Several, Register: history.Fenced},
			traffic.Quorum,
			"one name",
		},
		"a shared owner's": {
			traffic.Group{
				Names: []string{"a"}, TTL: 1, Mode: kinds.Reentrant, Owner: traffic.OwnerClient, Register: history.Fenced,
			},
			traffic.Quorum, "do not exclude",
		},
		"no slots": {
			traffic.Group{Names: []string{"a"}, TTL: 1, Mode: kinds.Semaphore}, traffic.Quorum, "at least one slot",
		},
		"permits at a register": {
			traffic.Group{Names: []string{"a"}, TTL: 1, Mode: kinds.Semaphore, Slots: 2, Register: history.Fenced},
			traffic.Quorum, "do not exclude",
		},
		"a permit's minimum": {
			traffic.Group{Names: []string{"a"}, TTL: 1, Mode: kinds.Semaphore, Slots: 2, MinHold: 1},
			traffic.Quorum,
			"no checker judges",
		},
		"a leader without a term": {
			traffic.Group{Names: []string{"a"}, TTL: 1, Mode: kinds.Leader}, traffic.Quorum, "its term",
		},
		"no register": {
			traffic.Group{Names: []string{"a"}, TTL: 1, Register: history.Fenced}, traffic.Quorum, "no address",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := inProcess(t, traffic.Config{
				Lock: tt.lock, URLs: []string{"redis://127.0.0.1:1"}, Groups: []traffic.Group{tt.group},
			})
			require.ErrorContains(t, err, tt.says)
		})
	}
}
