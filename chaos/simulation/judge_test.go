package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// An owner that comes back with its token, after a reader that got in beside it and shares that token, harms no store. Nothing
// else may have a token again.
func TestWhoMayComeBackWithAToken(t *testing.T) {
	t.Parallel()
	hold := func(kind Kind, owner string, fence uint64, from, to int) Hold {
		return Hold{Name: "a", Kind: kind, Owner: owner, Fence: fence, From: time.Duration(from), To: time.Duration(to)}
	}
	forgets := Schedule{Faults: []Fault{{Kind: Wipe}}}
	reader, again := hold(Reader, "", 7, 4, 5), hold(Reentrant, "o", 7, 8, 9)
	for name, c := range map[string]struct {
		schedule      Schedule
		first, second Hold
		earlier       Hold
		may           bool
	}{
		"the owner whose token the reader shares": {forgets, reader, again, hold(Reentrant, "o", 7, 1, 6), true},
		"where locks exclude":                     {Schedule{}, reader, again, hold(Reentrant, "o", 7, 1, 6), false},
		"after a writer":                          {forgets, hold(Writer, "", 7, 4, 5), again, hold(Reentrant, "o", 7, 1, 6), false},
		"with a smaller token":                    {forgets, hold(Reader, "", 8, 4, 5), again, hold(Reentrant, "o", 7, 1, 6), false},
		"another owner":                           {forgets, reader, again, hold(Reentrant, "p", 7, 1, 6), false},
		"an owner that had it later":              {forgets, reader, again, hold(Reentrant, "o", 7, 6, 7), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Result{Schedule: c.schedule, Holds: []Hold{c.earlier, c.first, c.second}}
			assert.Equal(t, c.may, r.cameBack(Violation{First: c.first, Second: c.second}))
		})
	}
}
