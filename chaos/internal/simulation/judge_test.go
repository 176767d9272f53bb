package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// TestWhoMayComeBackWithAToken checks the only case in which an earlier token may return: an owner's, after a reader
// that overlapped with the owner's hold and shares its token. A store that checks tokens suffers no harm.
func TestWhoMayComeBackWithAToken(t *testing.T) {
	t.Parallel()
	hold := func(kind string, owner string, fence uint64, from, to int) Hold {
		return Hold{Name: "a", Kind: kind, Owner: owner, Fence: fence, From: time.Duration(from), To: time.Duration(to)}
	}
	forgets := Schedule{Faults: []Fault{{Kind: Wipe}}}
	reader, again := hold(kinds.Reader, "", 7, 4, 5), hold(kinds.Reentrant, "o", 7, 8, 9)
	for name, c := range map[string]struct {
		schedule      Schedule
		first, second Hold
		earlier       Hold
		may           bool
	}{
		"the owner whose token the reader shares": {forgets, reader, again, hold(kinds.Reentrant, "o", 7, 1, 6), true},
		"where locks exclude":                     {Schedule{}, reader, again, hold(kinds.Reentrant, "o", 7, 1, 6), false},
		"after a writer":                          {forgets, hold(kinds.Writer, "", 7, 4, 5), again, hold(kinds.Reentrant, "o", 7, 1, 6), false},
		"with a smaller token":                    {forgets, hold(kinds.Reader, "", 8, 4, 5), again, hold(kinds.Reentrant, "o", 7, 1, 6), false},
		"another owner":                           {forgets, reader, again, hold(kinds.Reentrant, "p", 7, 1, 6), false},
		"an owner that had it later":              {forgets, reader, again, hold(kinds.Reentrant, "o", 7, 6, 7), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Result{Schedule: c.schedule, Holds: []Hold{c.earlier, c.first, c.second}}
			assert.Equal(t, c.may, r.cameBack(Violation{First: c.first, Second: c.second}))
		})
	}
}

// TestWhoTakesOverAToken checks that a hold may have the token of an overlapping hold that was asked for before another
// holder came, but only if counters are lost. Otherwise it would have found the other holder's count.
func TestWhoTakesOverAToken(t *testing.T) {
	t.Parallel()
	hold := func(kind string, owner string, fence uint64, asked, from int) Hold {
		return Hold{Name: "a", Kind: kind, Owner: owner, Fence: fence, Asked: time.Duration(asked), From: time.Duration(from), To: 9}
	}
	evicted := Schedule{Faults: []Fault{{Kind: Evict}}}
	first, inner := hold(kinds.Mutex, "", 8, 3, 4), hold(kinds.Reentrant, "o", 7, 6, 7)
	for name, c := range map[string]struct {
		schedule Schedule
		second   Hold
		beside   Hold
		may      bool
	}{
		"an owner's inner hold":                 {evicted, inner, hold(kinds.Reentrant, "o", 7, 2, 6), true},
		"a reader":                              {evicted, hold(kinds.Reader, "", 7, 6, 7), hold(kinds.Reader, "", 7, 2, 6), true},
		"where counters are kept":               {Schedule{}, inner, hold(kinds.Reentrant, "o", 7, 2, 6), false},
		"beside one that was asked for later":   {evicted, inner, hold(kinds.Reentrant, "o", 7, 5, 6), false},
		"beside one with another token":         {evicted, inner, hold(kinds.Reentrant, "o", 6, 2, 6), false},
		"beside another owner's":                {evicted, inner, hold(kinds.Reentrant, "p", 7, 2, 6), false},
		"before the other came":                 {evicted, inner, hold(kinds.Reentrant, "o", 7, 2, 8), false},
		"one that excludes all others has none": {evicted, hold(kinds.Mutex, "", 7, 6, 7), hold(kinds.Mutex, "", 7, 2, 6), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Result{Schedule: c.schedule, Holds: []Hold{c.beside, first, c.second}}
			assert.Equal(t, c.may, r.tookOver(Violation{First: first, Second: c.second}))
		})
	}
}

// TestWhatKeepsATokenFromBeingTold checks that a fault at the time, and nothing else, excuses two fencing tokens of one
// owner.
func TestWhatKeepsATokenFromBeingTold(t *testing.T) {
	t.Parallel()
	const second = time.Second
	for name, c := range map[string]struct {
		fault Fault
		may   bool
	}{
		"a master that crashes meanwhile":           {Fault{Kind: Crash, Master: 1, Client: -1, At: 101 * second, Until: 102 * second}, true},
		"a master that came back within the window": {Fault{Kind: Crash, Master: 1, Client: -1, At: 94 * second, Until: 96 * second}, true},
		"a master that came back before that":       {Fault{Kind: Crash, Master: 1, Client: -1, At: 80 * second, Until: 90 * second}, false},
		"a master that crashes later":               {Fault{Kind: Crash, Master: 1, Client: -1, At: 106 * second, Until: 107 * second}, false},
		"a way that was cut a moment before":        {Fault{Kind: CutFrom, Master: 1, Client: 1, At: 98 * second, Until: 99 * second}, true},
		"a way that was cut for a while before":     {Fault{Kind: CutFrom, Master: 1, Client: 1, At: 94 * second, Until: 96 * second}, false},
		"a way that is cut, of somebody else":       {Fault{Kind: CutFrom, Master: 1, Client: 2, At: 98 * second, Until: 105 * second}, true},
		"a client of the two that is frozen":        {Fault{Kind: Freeze, Master: -1, Client: 0, At: 101 * second, Until: 103 * second}, true},
		"another client that is frozen":             {Fault{Kind: Freeze, Master: -1, Client: 2, At: 101 * second, Until: 103 * second}, true},
		"a client whose time of day is set":         {Fault{Kind: Jump, Master: -1, Client: 0, At: 101 * second, Until: 101 * second}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Result{Schedule: Schedule{
				Masters: 3, Window: 5 * second, Clients: []Client{{Name: "client1"}, {Name: "client2"}, {Name: "client3"}}, Faults: []Fault{c.fault},
			}}
			first := Hold{Who: "client1.1", Asked: 100 * second, From: 101 * second, Fence: 7}
			assert.Equal(t, c.may, r.untold(first, Hold{Who: "client2.1", Asked: 104 * second, From: 105 * second, Fence: 8}))
		})
	}
}

// TestWhichTokenIsCarriedOn checks that an older hold's smaller token may be carried on only if a master was lost after
// the larger token was asked for.
func TestWhichTokenIsCarriedOn(t *testing.T) {
	t.Parallel()
	hold := func(fence uint64, asked, to time.Duration) Hold {
		return Hold{Name: "a", Kind: kinds.Reentrant, Owner: "o", Fence: fence, Asked: asked, From: asked + 1, To: to}
	}
	old, larger, again := hold(7, 1, 99), hold(8, 10, 30), hold(7, 40, 60)
	for name, c := range map[string]struct {
		fault Fault
		may   bool
	}{
		"a master that restarted since":     {Fault{Kind: Restart, At: 20}, true},
		"one that restarted before":         {Fault{Kind: Restart, At: 5}, false},
		"one that restarted later":          {Fault{Kind: Restart, At: 50}, false},
		"one that was cut off, and no more": {Fault{Kind: CutOff, At: 20}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Result{Schedule: Schedule{Faults: []Fault{c.fault}}, Holds: []Hold{old, larger, again}}
			assert.Equal(t, c.may, r.carriedOn(Violation{First: larger, Second: again}))
		})
	}
}

// TestWhoTakesOneMasterForTwoMayNotBeTold checks that a client that takes one master for two may miss a token, since
// one master fewer reports it. Without such a client and without faults no token may be missed.
func TestWhoTakesOneMasterForTwoMayNotBeTold(t *testing.T) {
	t.Parallel()
	clients := []Client{{Name: "client1"}, {Name: "client2"}}
	first := Hold{Who: "client1.1", Asked: 1, From: 2, Fence: 7}
	second := Hold{Who: "client2.1", Asked: 3, From: 4, Fence: 8}
	r := &Result{Schedule: Schedule{Masters: 3, Clients: clients}}
	assert.False(t, r.untold(first, second))
	clients[1].Twin = true
	assert.True(t, r.untold(first, second))
}
