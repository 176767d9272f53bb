package check_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/handmade"
)

func TestExclusion(t *testing.T) {
	t.Parallel()
	rows{
		"one after the other":                           {"a holds 10-50; b holds 51-90", ""},
		"the next begins as the last ends":              {"a holds 10-50; b holds 50-90", ""},
		"acquired while the unlock is still on its way": {"a gets 10-1000; a calls 50; b gets 52-1050; a returns 60", ""},
		"a belief ends by its deadline, though the frozen holder unlocks late": {
			"a gets 10-1000; b gets 1001-2000; a unlocks 1500", "",
		},
		"a killed holder's belief ends by its deadline": {"a gets 10-1000; b gets 1000-2000", ""},
		"notified of a loss, unlocked, and then another": {
			"a gets 10-1000; a lost 400; a unlocks 401; b gets 402-1400", "",
		},
		"notified of a loss, and another from the deadline on": {
			"a gets 10-1000; a lost 400; b gets 1000-2000; a unlocks 1500", "",
		},
		"thawed to find a newer deadline, after which the next one came": {
			"a gets 10-1000; a extends 1200-1300; b gets 1301-2000", "",
		},
		"unlocked at once, in the moment in which the next one begins": {"a holds 10-10; b gets 10-1000", ""},
		"unlocked at once, in the moment in which the one before ends": {"a holds 10-50; b holds 50-50", ""},
		"acquired after its deadline":                                  {"a gets 10-1000; b gets 500-500; b unlocks 500", ""},
		"acquired after its deadline, asked for before the other began": {
			"b holds 70-120; a keeps 100-50", "",
		},
		"two names":                          {"a gets 10-1000; b gets 20-1000 name=invoices", ""},
		"an acquisition that never returned": {"a gets 10-1000; b asks 20", ""},

		"an overlap of a millisecond":                {"a holds 10-51; b gets 50-1050", "for 1ms"},
		"an overlap of a nanosecond":                 {"a holds 10-50.000001; b gets 50-1050", "for 1ns"},
		"acquired before a killed holder's deadline": {"a gets 10-1000; b gets 999-2000", "for 1ms"},
		"acquired before the deadline that a killed holder knew it had won": {
			"a gets 10-1000; a extends 340-1330; b gets 1001-2000", "for 329ms",
		},
		"the holder was notified only when another had it": {
			"a gets 10-1000; b gets 300-1300; a lost 310; a unlocks 310", "for 10ms",
		},
		"notified of a loss, but another before the deadline": {
			"a gets 10-1000; a lost 999; b gets 999.5-2000; a unlocks 1600", "for 500µs",
		},
		"brought back after its deadline, while another held it": {
			"a gets 10-1000; b holds 1005-1300; a extends 1100-2100", "for 200ms",
		},
		"brought back after its deadline, when another has had it": {
			"a gets 10-50; b holds 51-55; a extends 60-100; a unlocks 90",
			"a.0/worker 0/op 1 held it again from 0.060 s on, although b.0",
		},
		"acquired after its deadline, within another's time": {
			"a keeps 10-1000; b keeps 500-400 asked=300", "b.0/worker 0/op 1 got it, until 0.400 s, while it was held by a.0",
		},
		"unlocked at once, within another's": {"a gets 10-1000; b holds 500-500", "for 0s"},
		"the same process twice":             {"a gets 10-1000; a gets 20-1000 op=2", "for 980ms"},
		"another life of the same client":    {"a gets 10-1000; a gets 500-1500 life=1", "a.1/worker 0/op 1"},
		"a short one inside a long one, which the one before does not touch": {
			"a holds 10-4000; b holds 20-30; c holds 3000-3001", "b.0/worker 0/op 1 | c.0/worker 0/op 1",
		},
		"a shorter deadline does not undo what was believed": {
			"a gets 10-1000; a extends 500-400; b holds 450-460", "for 10ms",
		},
		"an unlock whose call is not in the history": {"a keeps 10-1000; a returns 900; b holds 30-800", "for 770ms"},
		"an unlock whose call is not in the history, until it returned": {
			"a keeps 10-1000; a returns 500; b holds 400-800", "from 0.010 s to 0.500 s",
		},
	}.judgedBy(t, check.Exclusion)
}

func TestKindsOfLocksShareWhatTheyMayAndNoMore(t *testing.T) {
	t.Parallel()
	rows{
		"readers":                   {"a holds 10-100 reader; b holds 20-90 reader", ""},
		"a writer after readers":    {"a holds 10-100 reader; b holds 101-190 writer", ""},
		"holds of one owner":        {"a holds 10-100 owner=o; b holds 30-120 owner=o", ""},
		"one owner after the other": {"a holds 10-100 owner=o; b holds 101-120 owner=p", ""},
		"several, and another name": {"a holds 10-100 names=x,y; b holds 10-100", ""},
		"several, then one of them": {"a holds 10-100 names=orders,y; b holds 101-190", ""},
		"two names at once by two":  {"a holds 10-100 names=x,y; b holds 10-100 names=v,w", ""},
		"permits of one number":     {"a holds 10-100 slots=2; b holds 20-90 slots=2", ""},
		"a mutex after a permit":    {"a holds 10-100 slots=3; b holds 101-190", ""},

		"a reader while a writer holds": {"a holds 10-100 writer; b holds 20-90 reader", "for 70ms"},
		"a writer while the longest of many readers holds": {
			"a holds 5-200 reader; b holds 10-20 reader; c holds 30-90 writer", "reader a.0",
		},
		"readers while a mutex is held": {
			"a holds 10-100; b holds 20-200 reader; c holds 50-90 reader", "reader b.0 | reader c.0",
		},
		"a mutex while a reader holds":    {"a holds 10-100 reader; b holds 20-90", "for 70ms"},
		"two writers":                     {"a holds 10-100 writer; b holds 20-90 writer", "for 70ms"},
		"two owners":                      {"a holds 10-100 owner=o; b holds 20-90 owner=p", "for 70ms"},
		"two without an owner":            {"a holds 10-100 owner=; b holds 20-90 owner=", "for 70ms"},
		"an owner while a mutex is held":  {"a holds 10-100 owner=o; b holds 20-90", "for 70ms"},
		"one of several":                  {"a holds 10-100 names=x,orders; b holds 20-90", `"orders" was held by two`},
		"several that have one shared":    {"a holds 10-100 names=x,y; b holds 20-90 names=y,z", `"y" was held by two`},
		"a mutex while a permit is held":  {"a holds 10-100 slots=3; b holds 20-90", "for 70ms"},
		"a reader while a permit is held": {"a holds 10-100 slots=3; b holds 20-90 reader", "for 70ms"},
		"permits of two numbers of slots": {"a holds 10-100 slots=3; b holds 20-90 slots=2", "for 70ms"},
		"a mutex while the longer permit is held": {
			"a holds 10-100 slots=3; b holds 20-90 slots=3; c holds 95-99", "semaphore a.0",
		},
	}.judgedBy(t, check.Exclusion)
}

func TestWellFormed(t *testing.T) {
	t.Parallel()
	const held = "a keeps 1-9; "
	rows{
		"lost":               {"a keeps 10-1000; a extends 340-1300; a lost 1200; a unlocks 1201", ""},
		"lost in the unlock": {"a holds 10-500; a lost 500.2", ""},
		"refused":            {"a refused 10", ""},
		"killed, asking":     {"a asks 1", ""},
		"killed, holding":    {"a keeps 10-1000", ""},
		"killed, unlocking":  {"a keeps 10-1000; a calls 500", ""},

		"asked for twice":             {"a asks 0; a asks 1", "asked twice"},
		"acquired, never asked for":   {"a gets 1-5", "which it never asked for"},
		"acquired before asked for":   {"a gets 1-5; a asks 2", "which it never asked for"},
		"acquired twice":              {held + "a gets 6-9", "acquired twice"},
		"without a deadline":          {"a keeps 1", "without a deadline"},
		"extended but never acquired": {"a asks 0; a extends 1-9", "never acquired"},
		"lost but never acquired":     {"a asks 0; a lost 1", "never acquired"},
		"unlocked but never acquired": {"a asks 0; a calls 1", "never acquired"},
		"returned but never acquired": {"a asks 0; a returns 1", "never acquired"},
		"extended before acquired":    {"a keeps 2-9; a extends 1-9", "never acquired"},
		"unlocked, and never called":  {held + "a returns 3", "never called"},
		"unlocked before the call":    {held + "a returns 3; a calls 4", "never called"},
		"unlock called twice":         {held + "a unlocks 3; a calls 4", "called its unlock twice"},
		"unlock returned twice":       {held + "a unlocks 3; a returns 4", "returned twice"},
	}.judgedBy(t, check.WellFormed)

	events := handmade.History("a asks 1; b asks 2")
	slices.Reverse(events)
	v := check.WellFormed(events)
	require.Len(t, v.Findings, 1)
	assert.Contains(t, v.Findings[0].Text, "not in the order")
}

func TestASemaphoreHasNoMoreHoldersThanSlots(t *testing.T) {
	t.Parallel()
	const two = "a holds 10-100 slots=2; b holds 20-90 slots=2; "
	rows{
		"two of two":                      {two, ""},
		"a third when one has unlocked":   {two + "c holds 91-120 slots=2", ""},
		"a third when a deadline is over": {"a keeps 10-50 slots=2; b holds 20-90 slots=2; c holds 50-120 slots=2", ""},
		"other slots afterwards":          {"a holds 10-100 slots=3; b holds 101-190 slots=1", ""},
		"mutexes are not counted":         {"a holds 10-100; b holds 101-190", ""},
		"another name":                    {"a holds 10-100 slots=1; b holds 20-90 slots=1 name=invoices", ""},
		"a second holder of one slot": {
			"a holds 10-100 slots=1; b holds 20-90 slots=1", "had 2 holders of 1 slots from 0.020 s on, for 70ms",
		},
		"a third of two":                   {two + "c holds 30-50 slots=2", "3 holders of 2 slots from 0.030 s on, for 20ms"},
		"a third of two, unlocked at once": {two + "c holds 30-30 slots=2", "3 holders of 2 slots from 0.030 s on, for 0s"},
		"a third of two, though no two overlap for long": {
			"a holds 10-100 slots=2; b holds 20-40 slots=2; c holds 39-60 slots=2", "for 1ms",
		},
		"a third that came while an extension kept the first": {
			"a keeps 10-50 slots=2; a extends 40-200; b holds 20-120 slots=2; c holds 60-90 slots=2", "for 30ms",
		},
		"a third as an expired one is extended": {
			"a keeps 10-50 slots=2; b holds 20-120 slots=2; c holds 60-90 slots=2; a extends 80-200", "from 0.080 s on",
		},
		"two of two and three": {
			"a holds 10-100 slots=3; b holds 20-90 slots=3; c holds 30-50 slots=2", "3 holders of 2 slots",
		},
	}.judgedBy(t, check.Slots)
}

// A permit's fencing token shows its slot.
func TestASlotHasOneHolder(t *testing.T) {
	t.Parallel()
	const first = "a holds 10-100 slots=3 #301; "
	rows{
		"two slots":        {first + "b holds 20-120 slots=3 #305", ""},
		"one slot":         {first + "b holds 20-120 slots=3 #304", "both had slot 1 of 3 for 80ms"},
		"the last slot":    {"a holds 10-100 slots=3 #300; b holds 20-120 slots=3 #303", "both had slot 3 of 3"},
		"one token":        {first + "b holds 20-120 slots=3 #301", "both had slot 1 of 3"},
		"one slot in turn": {first + "b holds 100-120 slots=3 #304", ""},
		"no tokens":        {"a holds 10-100 slots=3; b holds 20-120 slots=3", ""},
		"one token only":   {"a holds 10-100 slots=3; b holds 20-120 slots=3 #303", ""},
		"another number":   {first + "b holds 20-120 slots=2 #303", ""}, // Exclusion finds that
		"another name":     {first + "b holds 20-120 slots=3 #304 name=invoices", ""},
		"no semaphore":     {"a holds 10-100 #301; b holds 20-120 #301", ""},
		"of a long permit and the third one after it": {
			first + "b holds 20-30 slots=3 #302; c holds 40-50 slots=3 #305; d holds 99-110 slots=3 #304", "for 1ms",
		},
	}.judgedBy(t, check.Slots)
}

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
