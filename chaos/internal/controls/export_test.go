package controls

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// onReal returns a control on real masters, and its trial.
func onReal(lock string) (Control, real) {
	c := onMasters[slices.IndexFunc(onMasters, func(c Control) bool { return c.Lock == lock })]
	return c, c.in.(real)
}

// Only tries a control on real masters.
func Only(ctx context.Context, o Options, lock string) (report.Control, error) {
	c, r := onReal(lock)
	return r.try(ctx, o, c)
}

// Instead tries a control with the lock under test in place of the broken lock, for one round or a short time.
func Instead(ctx context.Context, o Options, lock string) (report.Control, error) {
	c, r := onReal(lock)
	r.instead, r.proof = traffic.Quorum, false
	if r.harm != nil {
		r.rounds = 1
	} else {
		r.lasts = 3 * traffic.TTL
	}
	return r.try(ctx, o, c)
}

// Unknown tries a control whose checker does not exist.
func Unknown(ctx context.Context, o Options) (report.Control, error) {
	c, r := onReal("no token compared")
	c.Checker = "luck"
	return r.try(ctx, o, c)
}

// Fading tries a control on the lock under test with a TTL so short that residue expires before the last inspection.
func Fading(ctx context.Context, o Options) (check.Verdict, error) {
	c, r := onReal("no release after failure")
	r.longest = scenarios.Grace
	return r.under(traffic.Quorum).run(ctx, o, c)
}

// Stumbling tries a control on the lock under test, with harm that fails before the checker can judge.
func Stumbling(ctx context.Context, o Options) (check.Verdict, error) {
	c, r := onReal("nothing closed")
	r.harm = func(context.Context, *trial) error { return errors.New("no harm could be done") }
	return r.under(traffic.Quorum).run(ctx, o, c)
}

// Proper checks a made-up history of a trial with one round of harm, or for leaks of a trial without harm.
func Proper(checker string, events []history.Event, found, over bool) error {
	t := &trial{real: real{harm: refuse, rounds: 1}, before: before[checker]}
	if checker == "leaks" {
		t.real = real{lasts: 1}
	}
	var v check.Verdict
	if found {
		v.Findings = make([]check.Finding, 1)
	}
	return t.proper(events, v, over)
}

// Until returns the events up to a moment.
func Until(moment time.Duration, events []history.Event) []history.Event {
	return until(moment, events)
}

// Said returns the report of a control that must be found with the text says, for made-up verdicts on the broken lock
// and on the lock under test; nil if that was not tried.
func Said(says string, broken check.Verdict, sound *check.Verdict) report.Control {
	return Control{Says: says}.told(report.Control{}, broken, sound)
}

// JudgedByHand returns the verdict of a checker on the history of a control, on the sound one for "".
func JudgedByHand(checker, control string) check.Verdict {
	for _, c := range byHand {
		if c.Lock == control {
			return c.in.(written).judge(checker)
		}
	}
	return written{}.judge(checker)
}

// ByHand returns the controls in histories written by hand.
func ByHand() []Control { return byHand }
