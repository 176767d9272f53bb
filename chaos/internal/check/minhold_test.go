package check_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/handmade"
)

// In the checker's eyes a lock is valid until 1 s after it began. So these began at 10, and keep their names until 210.
func TestMinHold(t *testing.T) {
	t.Parallel()
	const (
		lock = "a keeps 12-1010 min=200 "
		job  = lock + "; a unlocks 50; "
	)
	rows{
		"within the time": {
			job + "b holds 205-300 asked=60",
			"was to stay taken for 200ms after a.0/worker 0/op 1 acquired it at 0.012 s, and b.0/worker 0/op 1 acquired it " +
				"at 0.205 s, 5ms too early",
		},
		"by the same client":           {job + "a holds 61-300 op=2", "149ms too early"},
		"by a client in its next life": {job + "a holds 61-300 life=1", "too early"},
		"one of several names":         {lock + "names=orders,x; a unlocks 50; b holds 61-300", "149ms too early"},
		"by a writer after a reader":   {lock + "reader; a unlocks 50; b holds 61-300 writer", "too early"},
		"by a reader after a writer":   {lock + "writer; a unlocks 50; b holds 61-300 reader", "too early"},

		"afterwards":                       {job + "b holds 210-300", ""},
		"held for longer":                  {lock + "; a unlocks 250; b holds 251-300", ""},
		"another name":                     {job + "b holds 61-300 names=x,y", ""},
		"the same owner":                   {lock + "owner=o; a unlocks 50; b holds 61-300 owner=o", ""},
		"a reader after another":           {lock + "reader; a unlocks 50; b holds 61-300 reader", ""},
		"no minimum hold":                  {"a keeps 12-1010; a unlocks 50; b holds 61-300", ""},
		"not unlocked":                     {"a keeps 12-80 min=200; b holds 81-300", ""},
		"an unlock that was not confirmed": {lock + "; a unlocks 50 err=no-quorum; b holds 100-300", ""},
		"a permit":                         {lock + "slots=2; a unlocks 50; b holds 61-300 slots=2", ""},
	}.judgedBy(t, check.MinHold)

	v := check.MinHold(handmade.History("a keeps 12-1010 min=1s; a unlocks 50; b keeps 1500-2500 min=1s"))
	assert.Contains(t, v.Looked, "1 locks that were unlocked before", "it counts what it judges")
}
