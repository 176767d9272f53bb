package simulation_test

import (
	"strings"
	"testing"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/simulation"
	"github.com/redlock-go/redlock/internal/sabotage"
	"github.com/redlock-go/redlock/internal/simnet"
)

// TestBrokenRulesAreCaught: the same simulation, on our own lock with a rule taken out, finds two holders.
func TestBrokenRulesAreCaught(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		option  redlock.Option
		profile string // in which it shows; "": in every one
		within  int
		crime   string
	}{
		"restart guard off":        {redlock.WithoutRestartGuard(), "", 200, "VIOLATION: two holders"},
		"majority less one":        {broken(sabotage.Rules{MajorityLess: 1}), "", 50, "VIOLATION: two holders"},
		"no drift budget":          {redlock.WithDrift(0, 0), "far away", 50, "VIOLATION: two holders"},
		"fence not written back":   {broken(sabotage.Rules{Unraised: true}), "", 50, "VIOLATION: fencing tokens out of order"},
		"fence written to anybody": {broken(sabotage.Rules{Script: raiseUnseen}), "split counters", 100, "VIOLATION: fencing tokens out of order"},
		"fence of each hold":       {broken(sabotage.Rules{Script: raiseInner}), "", 50, "VIOLATION: two fencing tokens of one owner"},
		"one expiry of readers":    {broken(sabotage.Rules{Script: expireTogether}), "dead holders", 20, "though nobody held it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caught(t, simulation.Product(c.option), c.profile, c.within, c.crime)
		})
	}
}

// TestBrokenLocksAreCaught: every judge of the simulation has a lock that it finds guilty.
func TestBrokenLocksAreCaught(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lock  func(simulation.Lock) simulation.Lock
		crime string
	}{
		"unlock does nothing":           {func(l simulation.Lock) simulation.Lock { return forgetful{l} }, "outlives its Unlock"},
		"loss told late":                {func(l simulation.Lock) simulation.Lock { return late(l) }, "late that"},
		"keys are left":                 {func(l simulation.Lock) simulation.Lock { return &untidy{Lock: l} }, "left on master"},
		"neither lock nor error":        {func(simulation.Lock) simulation.Lock { return nil }, "neither lock nor error"},
		"unlock takes for ever, almost": {func(l simulation.Lock) simulation.Lock { return slow{l} }, "Unlock took"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := func(w *simnet.Net, h *simnet.Host, s simulation.Schedule, cl simulation.Client) (simulation.Locker, error) {
				inner, err := simulation.Product()(w, h, s, cl)
				return wrapper{inner, c.lock}, err
			}
			caught(t, open, "", 20, c.crime)
		})
	}
}

// TestALockThatAsksAllTheTimeIsCaught: so is one that polls.
func TestALockThatAsksAllTheTimeIsCaught(t *testing.T) {
	t.Parallel()
	open := func(w *simnet.Net, h *simnet.Host, s simulation.Schedule, c simulation.Client) (simulation.Locker, error) {
		inner, err := simulation.Product()(w, h, s, c)
		return poller{inner}, err
	}
	caught(t, open, "", 5, "within a second")
}

// caught runs schedules, of one profile or of all, until the crime is found.
func caught(t *testing.T, open simulation.Open, profile string, within int, crime string) {
	t.Helper()
	ran := 0
	for seed := uint64(1); ran < within; seed++ {
		s := simulation.Draw(seed)
		if profile != "" && s.Profile != profile {
			continue
		}
		ran++
		if r := run(t, s, open); strings.Contains(r.Report(), crime) {
			t.Logf("caught by schedule %d, seed %d:\n%s", ran, seed, r.Report())
			return
		}
	}
	t.Errorf("%d schedules went by without %q: the simulation would not notice", within, crime)
}

func broken(r sabotage.Rules) redlock.Option { return sabotage.Option(r).(redlock.Option) }

// raiseUnseen writes the fencing token back whether or not the lock is there.
func raiseUnseen(name, text string) string {
	switch name {
	case "mutex_raise":
		return replace(text, "held ~= ARGV[1]", "false")
	case "entry_raise":
		return replace(text, "not held(holder(KEYS[1], now), now)", "false")
	}
	return text
}

// raiseInner gives every hold of an owner a fencing token of its own.
func raiseInner(name, text string) string {
	if name == "entry_acquire" {
		return replace(text, "if owned then", "if false then")
	}
	return text
}

// expireTogether lets all holds live on with each that is taken or renewed.
func expireTogether(name, text string) string {
	if strings.HasPrefix(name, "entry_") {
		const one = "redis.call('ZADD', key, now + ttl, member)"
		return replace(text, one, one+`
	for _, other in ipairs(redis.call('ZRANGE', key, 0, -1)) do
		redis.call('ZADD', key, now + ttl, other)
	end`)
	}
	return text
}

// replace changes a script.
func replace(text, old, by string) string {
	if strings.Count(text, old) != 1 {
		panic("the script has changed: " + old)
	}
	return strings.Replace(text, old, by, 1)
}
