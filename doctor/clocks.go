package doctor

import (
	"fmt"
	"math"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
)

const (
	whyDrift   = "A TTL then ends earlier or later than the holder expects. WithDrift is the budget of the Locker."
	fixClock   = "on its host: `chronyc tracking`; let NTP slew the clock, not step it (chrony: makestep only at boot)"
	maxOwnStep = 100 * time.Millisecond
)

var clockRules = []rule{
	{
		id: ClockBeyondBudget, title: "the clock drifts beyond the budget", severity: Danger,
		when: "`TIME` over 10 s: within one TTL the server's clock gains or loses more than the drift budget",
		why:  whyDrift, fix: fixClock,
		check: drifting(func(share float64) bool { return share > 1 }),
	},
	{
		id: ClockDrifts, title: "the clock drifts", severity: Warning,
		when: "the same, more than half of the drift budget",
		why:  whyDrift, fix: fixClock,
		check: drifting(func(share float64) bool { return share > driftSuspicious && share <= 1 }),
	},
	{
		id: ClockStepped, title: "the clock stepped", severity: Danger,
		when: "`TIME` jumped 10 ms more than round trips explain, by this host's monotonic clock",
		why:  "A step forward ends the TTLs of locks early, so the master may grant a lock that is held.",
		fix:  fixClock,
		check: each(func(_ *exam, m *master) string {
			steps, _ := m.steps()
			if len(steps) == 0 {
				return ""
			}
			return fmt.Sprintf("steps during the examination: %d, the first by %v", len(steps), steps[0].Round(time.Millisecond))
		}),
	},
	{
		id: HostClockDrifts, title: "this host's clock runs at another speed", severity: Danger,
		when: "a majority of three or more masters drift the same way, by more than half of the drift budget",
		why:  "Most likely this host's clock is wrong. Locks of this process end earlier or later than it expects.",
		fix:  "on this host: `chronyc tracking`; for a virtual machine check its clock source",
		check: func(e *exam) []hit {
			if rate, ok := e.ownDrift(); ok {
				return []hit{{observed: fmt.Sprintf("against most masters this host's clock gains %.0f ppm", -rate*1e6)}}
			}
			return nil
		},
	},
	{
		id: HostClockStepped, title: "this host's wall clock stepped", severity: Note,
		when: "the wall clock jumped by more than 100 ms against the monotonic clock",
		why:  "Locks use the monotonic clock. Fencing tokens start from the wall clock; steps of a day break their order.",
		fix:  "on this host: `chronyc tracking`",
		check: func(e *exam) []hit {
			if e.host.wallGain.Abs() <= maxOwnStep {
				return nil
			}
			return []hit{{observed: fmt.Sprintf("it gained %v during the examination", e.host.wallGain.Round(time.Millisecond))}}
		},
	},
	{
		id: HostClockRange, title: "this host's wall clock is out of range", severity: Danger,
		when: "the wall clock is before 1970 or after 2255",
		why:  "Locks with fencing tokens cannot be acquired.",
		fix:  "set the clock of this host",
		check: func(e *exam) []hit {
			if err := kind.CheckHint(e.host.now); err != nil {
				return []hit{{observed: err.Error()}}
			}
			return nil
		},
	},
	{
		id: Restarted, title: "restarted a moment ago", severity: Warning,
		when: "the restart guard is on, and `uptime_in_seconds` at the start plus the span is below the restart window " +
			"plus 1 s, or `run_id` changed meanwhile",
		why: "It may have forgotten what it granted, so its votes do not count yet.",
		fix: "wait; if the restart was not intended, see its log",
		check: each(func(e *exam, m *master) string {
			up := time.Duration(m.number("uptime_in_seconds")) * time.Second
			if _, ok := m.info["uptime_in_seconds"]; !ok || !e.deployment.Guard {
				return ""
			}
			if _, _, both := m.bothLive(); !both && len(m.runIDs()) > 1 {
				return "it restarted during the examination"
			}
			// The server rounds down to seconds, so the process may be a second younger.
			left := e.deployment.RestartWindow + time.Second - up - e.span
			return ifSo(left > 0,
				fmt.Sprintf("it was up for %v when asked, and may vote in %v", up, left.Round(time.Millisecond)))
		}),
	},
	{
		id: DriftNotExamined, title: "the drift of clocks is not examined", severity: Note,
		when: "`WithSpan` below 10 s",
		why:  "Over a short time, round trips blur the speed of a clock.",
		fix:  "use a span of at least 10 s",
		check: func(e *exam) []hit {
			if e.span >= fullSpan {
				return nil
			}
			return []hit{{observed: fmt.Sprintf("the span was %v", e.span)}}
		},
	},
}

// drifting returns the check for masters whose drift, as a share of the budget, matches. It finds none if this host's
// clock is the one that drifts.
func drifting(matches func(share float64) bool) func(*exam) []hit {
	return each(func(e *exam, m *master) string {
		_, rate := m.steps()
		if _, own := e.ownDrift(); own || e.span < fullSpan || !matches(e.share(rate)) {
			return ""
		}
		return fmt.Sprintf("it gains %.0f ppm on this host's clock, %.1f of the drift budget", rate*1e6, e.share(rate))
	})
}

// share returns how much of the drift budget of one TTL a rate uses up.
func (e *exam) share(rate float64) float64 {
	ttl := e.deployment.TTL
	return math.Abs(rate) * float64(ttl) / float64(max(1, e.deployment.Drift.Of(ttl)))
}

// ownDrift returns the drift of the masters against this host if a majority of them agrees that there is one.
func (e *exam) ownDrift() (rate float64, ok bool) {
	if e.span < fullSpan || len(e.masters) < 3 {
		return 0, false
	}
	ahead, behind := 0, 0
	var last [2]float64
	for _, m := range e.masters {
		_, r := m.steps()
		switch {
		case e.share(r) <= driftSuspicious:
		case r > 0:
			ahead, last[0] = ahead+1, r
		default:
			behind, last[1] = behind+1, r
		}
	}
	switch need := len(e.masters)/2 + 1; {
	case ahead >= need:
		return last[0], true
	case behind >= need:
		return last[1], true
	default:
		return 0, false
	}
}
