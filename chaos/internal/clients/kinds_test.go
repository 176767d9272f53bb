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

	"github.com/redlock-go/redlock/chaos/internal/clients"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/register"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/redlocktest"
)

// started returns a fleet whose clients take locks of groups and find both registers, which write their history next to
// that of the clients.
func started(t *testing.T, size, masters int, groups []traffic.Group) (*clients.Fleet, *recorder) {
	t.Helper()
	f, log := newFleet(t, size, traffic.Config{URLs: redlocktest.URLs(redlocktest.Start(t, masters)), Groups: groups})
	f.Config.Registers = map[string]string{}
	for _, kind := range []string{history.Trusting, history.Fenced} {
		r, err := register.Start(kind, filepath.Join(f.Dir, "register-"+kind+".jsonl"))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, r.Close()) })
		f.Config.Registers[kind] = r.Addr()
	}
	require.NoError(t, f.StartAll(t.Context()))
	return f, log
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

type like = func(history.Event) bool

func at(kind history.Kind, name string) like {
	return func(e history.Event) bool { return e.Kind == kind && e.Name == "test:"+name }
}

// A round takes once what each group takes, in each way.
func TestARoundTakesWhatTheGroupsTake(t *testing.T) {
	t.Parallel()
	groups := traffic.Everything
	f, log := started(t, 1, 3, groups)
	require.NoError(t, f.Stop(t.Context(), 2*soon))
	before := len(read(t, f))
	require.NoError(t, f.Round(t.Context(), 2*soon, soon))
	require.NoError(t, quit(t, f))
	assert.Empty(t, log.all())

	var want, got []string
	for _, c := range f.Names() {
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
	for _, e := range read(t, f)[before:] {
		if e.Kind == history.Acquired {
			got = append(got, fmt.Sprint(e.Client, " ", e.Name, " ", e.Mode, " ", e.Fence > 0))
		}
	}
	assert.ElementsMatch(t, want, got)
}

// Everybody holds for twice the TTL. Who is not careless notices, and leaves the register alone.
func TestACarefulHolderDoesNotWriteBehindItsLock(t *testing.T) {
	t.Parallel()
	g := trusted[0]
	g.Hold = traffic.Hold{Usual: traffic.Span{Least: 2 * g.TTL}}
	f, log := started(t, 2, 3, []traffic.Group{g})
	require.Eventually(t, func() bool { return has(read(t, f), at(history.Lost, "one")) >= 4 }, soon, 10*look)
	require.NoError(t, f.Kill(t.Context(), 0)) // to be stopped would end a hold in time
	require.NoError(t, f.Kill(t.Context(), 1))
	assert.Empty(t, log.all())
	assert.Zero(t, has(read(t, f), at(history.Written, "one")))
	assert.Positive(t, has(read(t, f), at(history.Read, "one")))
}
