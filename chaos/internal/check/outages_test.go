package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

func TestOutagesEndWithTheLastOfTheirKind(t *testing.T) {
	t.Parallel()
	at := func(second int, kind history.Kind, fault string, targets ...int) history.Event {
		return history.Event{
			T: time.Duration(second) * time.Second, Kind: kind, Fault: fault, On: "masters", Targets: targets,
		}
	}
	events := []history.Event{
		at(1, history.Inject, "cut", 0, 1), at(2, history.Inject, "cut", 0), at(3, history.Inject, "kill", 0),
		at(4, history.Heal, "cut", 0, 1), at(5, history.Healthy, "cut", 0), at(6, history.Healthy, "cut", 1),
		at(7, history.Healthy, "cut", 0), at(8, history.Inject, "cut", 0),
		{T: 9 * time.Second, Kind: history.Phase},
	}
	outage := func(fault string, target, from, to int, open bool) check.Outage {
		return check.Outage{
			On: "masters", Fault: fault, Target: target, From: time.Duration(from) * time.Second,
			To: time.Duration(to) * time.Second, Open: open,
		}
	}
	assert.Equal(t, []check.Outage{
		outage("cut", 0, 1, 7, false), outage("cut", 1, 1, 6, false), outage("kill", 0, 3, 9, true),
		outage("cut", 0, 8, 9, true),
	}, check.Outages(events, history.Healthy))
	assert.Equal(t, outage("cut", 1, 1, 4, false), check.Outages(events, history.Heal)[1])
}
