package check_test

import (
	"testing"

	"github.com/redlock-go/redlock/chaos/internal/check"
)

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
