package wire

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

// lost returns a lateDelivery whose connection to server A was lost with a call that was sent at 0.
func lost() lateDelivery {
	var l lateDelivery
	l.connLost("A", at(0))
	return l
}

// A connection to another process is lost before that process has answered. What it may still deliver must be undone.
func TestLateDeliveryOfAProcessThatReplacedAnother(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		second string
		want   lateState
		since  time.Time
	}{
		"the same":   {"A", lateDraining, at(0)},
		"another":    {"B", lateDraining, at(5)},
		"an unknown": {"", lateDraining, at(0)},
		"only A's":   {"A only", lateNone, at(0)},
	} {
		l := lost()
		if tt.second != "A only" {
			l.connLost(tt.second, at(5))
		}
		answers := "B"
		if tt.second == "A" {
			answers = "A"
		}
		l.answered(answers, false, at(6))
		assert.Equal(t, tt.want, l.state, name)
		assert.Equal(t, tt.since, l.silentSince, name)
	}
}

// drainingFrom returns a lateDelivery whose master was silent from 0 on and answered again at that second.
func drainingFrom(seconds float64) lateDelivery {
	l := lost()
	l.answered("A", false, at(seconds))
	return l
}

func TestLateDeliveryEndsWhenNothingCanArrive(t *testing.T) {
	t.Parallel()
	for silent, want := range map[float64]float64{0: 1, 4: 9, 60: 121, 120: 241, 3600: 3721} {
		l := drainingFrom(silent)
		assert.Equal(t, at(want), l.until, "silent for %v seconds", silent)
		l.answered("A", false, l.until.Add(-1))
		assert.Equal(t, lateDraining, l.state)
		l.answered("A", false, l.until)
		assert.Equal(t, lateNone, l.state)
	}
}

// The table has every pair of a state and an answer.
func TestLateDeliveryAfterAnAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lost, now  string // run ids
		wasSuspect bool
		seconds    float64
		silent     lateState // what follows if the master was silent
		draining   lateState // what follows if it had answered before
		again      bool      // then nothing can arrive only after a time that begins now
	}{
		"the same server":                {"A", "A", false, 5, lateDraining, lateDraining, false},
		"an unknown server":              {"A", "", false, 5, lateDraining, lateDraining, false},
		"a server, lost was an unknown":  {"", "A", false, 5, lateDraining, lateDraining, false},
		"the same, after a suspicion":    {"A", "A", true, 5, lateDraining, lateDraining, true},
		"the same, when all has arrived": {"A", "A", false, 9, lateDraining, lateNone, false},
		"a suspect, when all arrived":    {"A", "A", true, 9, lateDraining, lateDraining, true},
		"another server":                 {"A", "B", true, 9, lateNone, lateNone, false},
	} {
		for state, want := range map[lateState]lateState{
			lateNone: lateNone, lateSilent: c.silent, lateDraining: c.draining,
		} {
			l := lateDelivery{state: state, runID: c.lost, silentSince: at(1), until: at(9)}
			l.answered(c.now, c.wasSuspect, at(c.seconds))
			assert.Equal(t, want, l.state, "%s, in %v", name, state)
			begins := want == lateDraining && (state == lateSilent || c.again)
			assert.Equal(t, begins, l.answeredAt.Equal(at(c.seconds)), "%s, in %v", name, state)
			assert.Equal(t, begins, l.until.Equal(at(2*c.seconds)), "%s, in %v", name, state)
		}
	}
}

// A second silence that begins before the first has drained counts from the beginning of the first.
func TestLateDeliveryKeepsTheOldestSilence(t *testing.T) {
	t.Parallel()
	l := drainingFrom(4)
	l.connLost("A", at(6))
	l.answered("A", false, at(10))
	assert.Equal(t, at(0), l.silentSince)
	assert.Equal(t, at(21), l.until)

	l = drainingFrom(4)
	l.answered("A", true, at(8)) // the new connection was silent, too, and was not lost
	assert.Equal(t, at(8), l.answeredAt)
	assert.Equal(t, at(17), l.until)

	l.answered("A", false, at(17))
	l.connLost("B", at(20))
	assert.Equal(t, at(20), l.silentSince)
	assert.Equal(t, "B", l.runID)
}

// A release can have overtaken only requests from before the master answered again.
func TestLateDeliveryMayOvertakeEarlierRequestsOnly(t *testing.T) {
	t.Parallel()
	none, draining := lateDelivery{}, drainingFrom(4)
	assert.False(t, none.mayOvertake(time.Time{}))
	assert.True(t, draining.mayOvertake(time.Time{}))
	assert.True(t, draining.mayOvertake(at(3.9)))
	assert.False(t, draining.mayOvertake(at(4)))
	draining.answered("B", false, at(4.1))
	assert.False(t, draining.mayOvertake(at(3.9)), "the server that may have got them has ended")
}

func TestLateDeliveryRepeatsAtDoublingAges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		silent, confirmed float64
		keyTTL            time.Duration
		want              []float64
	}{
		"soon after the answer":       {4, 4, time.Minute, []float64{4.5, 5, 6, 8, 9}},
		"later":                       {4, 7, time.Minute, []float64{9}},
		"the key expires before that": {60, 60, 2 * time.Second, []float64{60.5, 61, 62, 63}},
		"everything has arrived":      {4, 9, time.Minute, nil},
	} {
		l := drainingFrom(c.silent)
		var all []time.Time
		for next, ok := l.repeatAt(at(c.confirmed), c.keyTTL, at(c.confirmed)); ok; {
			all = append(all, next)
			next, ok = l.repeatAt(at(c.confirmed), c.keyTTL, next)
		}
		var want []time.Time
		for _, s := range c.want {
			want = append(want, at(s))
		}
		assert.Equal(t, want, all, name)
	}
}

func (s lateState) String() string { return fmt.Sprint([]string{"none", "silent", "draining"}[s]) }
