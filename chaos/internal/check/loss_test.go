package check_test

import (
	"testing"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
)

func TestLossNotified(t *testing.T) {
	t.Parallel()
	const (
		held   = "a keeps 10-1000; "
		frozen = held + "freeze-client injected 500 clients=0; freeze-client healed 1700 clients=0; "
	)
	rows{
		"unlocked before Until":                 {held + "a unlocks 900", ""},
		"notified before Until, unlocked after": {held + "a lost 999; a unlocks 1500", ""},
		"notified with all the slack there is":  {held + "a lost 1020", ""},
		"notified a moment later":               {held + "a lost 1020.001", "was notified of the loss only at 1.020 s"},
		"notified of the Until before the last": {held + "a extends 500-2000; a lost 2020", ""},
		"notified long after the last Until":    {held + "a extends 500-2000; a lost 2021", "believed until 2.000 s"},
		"unlocked of its own accord, late":      {held + "a unlocks 1021", "was not notified of a loss"},
		"an extension learned in time":          {held + "a extends 1010-2000; a unlocks 1500", ""},
		"an extension learned late": {
			held + "a extends 1100-2000; a unlocks 1500", "learned of an extension only at",
		},
		"notified after it had unlocked":                       {held + "a unlocks 900; a lost 1300", ""},
		"killed before Until":                                  {held, ""},
		"its process runs on, not notified":                    {held + "a quits 1100", "its process ran until 1.100 s"},
		"killed, and a register writes what it still received": {held + "a writes 1100", ""},
		"another process runs on":                              {held + "b quits 1100", ""},
		"another life runs on":                                 {held + "a quits 1100 life=1", ""},

		"frozen over its Until, notified soon": {frozen + "a lost 1715", ""},
		"frozen over its Until, notified late": {frozen + "a lost 1721", "ran for 21ms"},
		"another client frozen": {
			held + "freeze-client injected 500 clients=1; freeze-client healed 1700 clients=1; a lost 1715", "ran for 715ms",
		},
		"frozen before its Until only": {
			held + "freeze-client injected 500 clients=0; freeze-client healed 990 clients=0; a lost 1030", "ran for 30ms",
		},
		"frozen to the end":                   {held + "freeze-client injected 500 clients=0; calm begins 3000", ""},
		"stalled, and notified late":          {held + "a stalls 1010-1300; a lost 1311", "ran for 21ms in between"},
		"the process noticed that it stood":   {held + "a stalls 1010-1300; a lost 1305", ""},
		"another process noticed that it did": {held + "b stalls 1010-1300; a lost 1305", "ran for 305ms"},
		"a stall counts once": {
			held + "freeze-client injected 1000 clients=0; freeze-client healed 1300 clients=0; a stalls 1000-1300; a lost 1321",
			"ran for 21ms",
		},
	}.judgedBy(t, on(check.Terms{Clients: []string{"a", "b"}, Slack: 20 * time.Millisecond}, check.LossNotified))
}
