package simulation_test

import (
	"strings"
	"testing"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/simulation"
	"github.com/redlock-go/redlock/internal/sabotage"
	"github.com/redlock-go/redlock/internal/simnet"
)

// TestBrokenRulesAreCaught: the same simulation, on our own lock with a rule taken out, finds what comes of it.
func TestBrokenRulesAreCaught(t *testing.T) {
	t.Parallel()
	const (
		holders  = "VIOLATION: two holders"
		disorder = "VIOLATION: fencing tokens out of order"
	)
	for name, c := range map[string]struct {
		option  redlock.Option
		profile string // in which it shows; "": in every one
		within  int
		crime   string
	}{
		"restart guard off":               {redlock.WithoutRestartGuard(), "rolling restarts", 50, holders},
		"majority less one":               {broken(sabotage.Rules{MajorityLess: 1}), "calm", 50, holders},
		"no drift budget":                 {redlock.WithDrift(0, 0), "far away", 80, holders},
		"fence not written back":          {broken(sabotage.Rules{Unraised: true}), "split counters", 20, disorder},
		"fence written back to anybody":   {broken(sabotage.Rules{Script: raiseUnseen}), "split counters", 100, disorder},
		"fence counted from one":          {broken(sabotage.Rules{Script: forgetHint}), "total loss", 60, disorder},
		"fence of each hold of an owner":  {broken(sabotage.Rules{Script: raiseInner}), "", 60, "VIOLATION: two fencing tokens of one owner"},
		"counters that never end":         {broken(sabotage.Rules{Script: keepForEver}), "calm", 20, "has no end"},
		"one expiry of all readers":       {broken(sabotage.Rules{Script: expireTogether}), "dead holders", 60, "though nobody held it"},
		"downgrade with a gap":            {broken(sabotage.Rules{Script: dropWriter}), "calm", 50, holders},
		"readers come in beside a writer": {broken(sabotage.Rules{Script: admitReaders}), "calm", 50, holders},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caught(t, simulation.Product(c.option), c.profile, c.within, c.crime)
		})
	}
}

// TestBrokenKindsAreCaught: every kind of lock has its own rule, and a lock that breaks it.
func TestBrokenKindsAreCaught(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		instead func(*simulation.Want)
		profile string
		crime   string
	}{
		"writer that lets readers in": {func(w *simulation.Want) {
			if w.Kind == simulation.Writer {
				w.Kind = simulation.Reader
			}
		}, "calm", "VIOLATION: two holders"},
		"any owner is the same": {func(w *simulation.Want) {
			if w.Owner != "" {
				w.Owner = "everybody"
			}
		}, "calm", "VIOLATION: two holders"},
		"first of many names only": {func(w *simulation.Want) { w.Names = w.Names[:1] }, "calm", "VIOLATION: two holders"},
		"owner is a stranger to itself": {func(w *simulation.Want) {
			if w.Kind == simulation.Reentrant {
				w.Kind = simulation.Mutex
			}
		}, "dead holders", "was refused to"},
		"no fencing": {func(w *simulation.Want) { w.Fencing = false }, "calm", "the fencing token is 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := func(w *simnet.Net, h *simnet.Host, s simulation.Schedule, cl simulation.Client) (simulation.Locker, error) {
				inner, err := simulation.Product()(w, h, s, cl)
				return changer{inner, c.instead}, err
			}
			caught(t, open, c.profile, 50, c.crime)
		})
	}
}

// TestBrokenLocksAreCaught: every judge of the simulation has a lock that it finds guilty.
func TestBrokenLocksAreCaught(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lock    func(simulation.Lock) simulation.Lock
		profile string
		crime   string
	}{
		"unlock does nothing":           {func(l simulation.Lock) simulation.Lock { return forgetful{l} }, "calm", "outlives its Unlock"},
		"loss told late":                {func(l simulation.Lock) simulation.Lock { return late(l) }, "rolling restarts", "late that"},
		"keys are left":                 {func(l simulation.Lock) simulation.Lock { return &untidy{Lock: l} }, "calm", "left on master"},
		"neither lock nor error":        {func(simulation.Lock) simulation.Lock { return nil }, "calm", "neither lock nor error"},
		"unlock takes for ever, almost": {func(l simulation.Lock) simulation.Lock { return slow{l} }, "calm", "Unlock took"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := func(w *simnet.Net, h *simnet.Host, s simulation.Schedule, cl simulation.Client) (simulation.Locker, error) {
				inner, err := simulation.Product()(w, h, s, cl)
				return wrapper{inner, c.lock}, err
			}
			caught(t, open, c.profile, 20, c.crime)
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
	caught(t, open, "calm", 5, "within a second")
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
		if r := run(t, s, open); strings.Contains(r.Verdict(), crime) {
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

// forgetHint makes the first token of a name 1, and not the time.
func forgetHint(name, text string) string {
	switch name {
	case "mutex_acquire":
		return replace(text, "f = tonumber(ARGV[4])", "f = 1")
	case "entry_acquire":
		return replace(text, "math.max(last + 1, tonumber(ARGV[4]))", "last + 1")
	}
	return text
}

// keepForEver lets counters stay.
func keepForEver(_, text string) string {
	return strings.ReplaceAll(text, "redis.call('PEXPIRE', key, keep)", "")
}

// dropWriter takes a writer away and puts no reader in its place.
func dropWriter(name, text string) string {
	if name == "entry_extend" {
		return replace(text, "redis.pcall('PUBLISH', ARGV[6], '')", "do return 1 end")
	}
	return text
}

// admitReaders grants a reader whatever is there, if it is an entry.
func admitReaders(name, text string) string {
	if name == "entry_acquire" {
		return replace(text, "if not admitted(kind, token) then", "if not admitted(kind, token) and not (ARGV[1] == 'reader' and kind == 'writer') then")
	}
	return text
}

// expireTogether lets all readers live on with each that comes or renews.
func expireTogether(name, text string) string {
	if strings.HasPrefix(name, "entry_") {
		const one = "redis.call('ZADD', key, now + ttl, member)"
		return replace(text, one, one+`
	if key == KEYS[1] and ARGV[1] == 'reader' then
		for _, other in ipairs(redis.call('ZRANGE', key, 0, -1)) do
			redis.call('ZADD', key, now + ttl, other)
		end
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
