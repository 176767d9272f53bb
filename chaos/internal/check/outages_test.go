package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/handmade"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

func TestOutagesEndWithTheLastOfTheirKind(t *testing.T) {
	t.Parallel()
	events := handmade.History(`
		cut injected 1 on=0,1; cut injected 2 on=0; kill injected 3 on=0; cut healed 4 on=0,1; cut healthy 5 on=0;
		cut healthy 6 on=1; cut healthy 7 on=0; cut injected 8 on=0; calm begins 9`)
	outage := func(fault string, target, from, to time.Duration, open bool) check.Outage {
		return check.Outage{
			On: "masters", Fault: fault, Target: int(target),
			From: from * time.Millisecond, To: to * time.Millisecond, Open: open,
		}
	}
	assert.Equal(t, []check.Outage{
		outage("cut", 0, 1, 7, false), outage("cut", 1, 1, 6, false), outage("kill", 0, 3, 9, true),
		outage("cut", 0, 8, 9, true),
	}, check.Outages(events, history.Healthy))
	assert.Equal(t, outage("cut", 1, 1, 4, false), check.Outages(events, history.Heal)[1])
}
