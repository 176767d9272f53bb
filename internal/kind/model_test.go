package kind_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/internal/wire"
)

// The test sends a master random operations of a few claims of all kinds, in any order and any number of times, while
// its clock runs. Each vote and the state afterwards must be as in [model].
func TestScriptsDoAsTheModelSays(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	seen := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) { playOn(t, s, seen, 4) })
	if !testing.Short() { // rapid plays a fifth of the sequences
		require.Empty(t, unseen(seen), "it has probed too little: %v", seen)
	}
}

// The same on a real server. Its durations are in minutes.
func TestScriptsDoAsTheModelSaysOnARealServer(t *testing.T) {
	t.Parallel()
	on(t, []place{
		real(t, "redis-server", ""), real(t, "redis-server, nothing allowed that is not needed", rights),
	}, func(t *testing.T, p place) {
		p.with(t, func(t *testing.T, master *server) {
			s, seen := subjectOn(t, master), make(map[string]int)
			rapid.Check(t, func(t *rapid.T) { playOn(t, s, seen, 1) })
			if testing.Short() {
				return
			}
			for _, what := range []string{"healed", "owned", "kept", "full", "forgotten", "ended", "withdraw granted"} {
				assert.NotZero(t, seen[what], what)
			}
		})
	})
}

// playOn plays sequences of operations of the same claims, each of about 30 steps.
func playOn(t *rapid.T, s *subject, seen map[string]int, sequences int) {
	s.begin()
	parts := rapid.Permutation(pool()).Draw(t, "claims")[:rapid.IntRange(1, 3).Draw(t, "parts")]
	claims := slices.Concat(parts...)
	for i := range claims {
		claims[i].TTL = rapid.SampledFrom([]time.Duration{20, 100, 1000}).Draw(t, "TTL") * s.unit
		claims[i].Fencing = rapid.SampledFrom([]bool{true, true, false}).Draw(t, "fencing")
		low, bound := rapid.Int64Range(0, 5), rapid.SampledFrom([]int64{-1, largest - 1, largest, tooLarge})
		claims[i].Hint = rapid.OneOf(low, low, low, low, low, low, low, low, low, bound).Draw(t, "hint")
	}
	p := play{subject: s, probed: seen, claims: claims, highest: make(map[string]int64), given: make(map[string]int64)}
	steps := map[string]func(*rapid.T){
		"acquire": p.acquire, "raise": p.raise, "extend": p.extend, "release": p.release, "probe": p.probe,
		"withdraw": p.withdraw, "keep": p.keep, "release by token": p.releaseByToken, "wait": p.wait, "": p.compare,
	}
	for range sequences {
		t.Repeat(steps)
	}
}

// unseen lists what the test must have seen, and has not.
func unseen(seen map[string]int) (missing []string) {
	wanted := []string{
		"withdraw granted", "withdraw denied", "healed", "owned", "forgotten",
		"ended", "kept", "full", "acquire failed", "raise failed", "extend failed", "mutex intent", "writer intent",
		"reentrant intent",
	}
	for _, k := range allKinds() {
		for _, op := range []string{"acquire", "raise", "extend", "release", "probe"} {
			wanted = append(wanted, k+" "+op+" granted", k+" "+op+" denied")
		}
	}
	return slices.DeleteFunc(wanted, func(what string) bool { return seen[what] > 0 })
}

// play is one sequence of operations.
type play struct {
	*subject
	probed  map[string]int
	claims  []claim
	highest map[string]int64 // by name: the largest fencing token given so far
	given   map[string]int64 // by claim: the last one
}

// any returns one of the claims that meet the conditions.
func (p play) any(t *rapid.T, fit ...func(claim) bool) claim {
	claims := slices.Clone(p.claims)
	for _, is := range fit {
		claims = slices.DeleteFunc(claims, func(c claim) bool { return !is(c) })
	}
	if len(claims) == 0 {
		t.Skip("there is none")
	}
	p.tick()
	return rapid.SampledFrom(claims).Draw(t, "claim")
}

func (p play) acquire(t *rapid.T) {
	c := p.any(t)
	want := p.model.acquire(c)
	if c.Kind == "mutex" && len(c.Names) == 1 && !c.Fencing {
		want.blocker = nil // SET NX does not report the blocker
	}
	p.ask(t, c, c.Ops().Acquire(), want)
	if want.granted && c.Fencing {
		p.given[c.Kind+c.Token] = want.number
		p.mustGrow(t, c, want)
	}
}

func (p play) raise(t *rapid.T) {
	held := rapid.Bool().Draw(t, "held")
	c := p.any(t, func(c claim) bool { return c.Fencing && (!held || p.model.at(c.Names[0]).has(c)) })
	fence := p.fence(t, c)
	p.ask(t, c, c.Ops().Raise(fence), p.model.raise(c, fence))
}

func (p play) extend(t *rapid.T) { p.prolong(t, p.any(t)) }

func (p play) prolong(t *rapid.T, c claim) {
	fence := int64(0)
	if c.Fencing {
		fence = p.fence(t, c)
	}
	p.ask(t, c, c.Ops().Extend(fence), p.model.extend(c, fence))
}

// fence returns a fencing token that a claim may have, from this master or another.
func (p play) fence(t *rapid.T, c claim) int64 {
	given, last := p.given[c.Kind+c.Token], p.model.at(first).last
	known, some := rapid.SampledFrom([]int64{given, last, last + 1}), rapid.Int64Range(1, 20)
	return max(1, rapid.OneOf(known, known, known, some, some, some, rapid.Just[int64](tooLarge)).Draw(t, "fence"))
}

func (p play) release(t *rapid.T) {
	c, held := p.any(t), rapid.Bool().Draw(t, "held")
	p.ask(t, c, c.Ops().Release(held), p.model.release(c, held))
}

func (p play) releaseByToken(t *rapid.T) {
	c := p.any(t)
	if rapid.Bool().Draw(t, "kept") {
		c.Token = kind.KeptToken(c.Token)
	}
	p.ask(t, c, kind.DefaultScripts.Release(c.Names[0], c.Token), p.model.releaseToken(c.Names[0], c.Token))
}

func (p play) keep(t *rapid.T) {
	held := rapid.Bool().Draw(t, "held")
	c := p.any(t, func(c claim) bool { return !held || p.model.at(c.Names[0]).has(c) })
	rest := time.Duration(rapid.IntRange(1, 200).Draw(t, "rest")) * p.unit
	want := p.model.stay(c, rest)
	p.ask(t, c, c.Ops().Keep(rest), want)
	if want.granted {
		p.probed["kept"]++
	}
}

func (p play) probe(t *rapid.T) {
	c, life := p.any(t), time.Duration(rapid.IntRange(1, 200).Draw(t, "life"))*p.unit
	p.ask(t, c, c.Probe(life), p.model.probe(c, life))
}

func (p play) withdraw(t *rapid.T) {
	c := p.any(t, func(c claim) bool { return c.Intent != "" })
	if rapid.Bool().Draw(t, "silently") {
		p.ask(t, c, c.WithdrawSilently(), p.model.withdraw(c, false))
	} else {
		p.ask(t, c, c.Withdraw(), p.model.withdraw(c, true))
	}
}

func (p play) wait(t *rapid.T) {
	short, ends, day := rapid.Int64Range(1, 50), rapid.SampledFrom(p.ends()), rapid.Just(int64(fenceLife/p.unit)+1001)
	units := rapid.OneOf(short, short, short, short, ends, ends, ends, ends, day).Draw(t, "units")
	p.pass(units * p.unit.Milliseconds())
}

// ends returns the times until holds and intents end, and until a unit before that, in units.
func (p play) ends() []int64 {
	waits, unit := []int64{1}, p.unit.Milliseconds()
	for _, name := range []string{first, second} {
		r := p.model.at(name)
		for _, ends := range []map[string]int64{r.holds, r.intents} {
			for _, end := range ends {
				left := (end - p.model.now + unit - 1) / unit
				waits = append(waits, left, left-1)
			}
		}
	}
	slices.Sort(waits) // rapid needs the same order in a replay
	return waits
}

// mustGrow checks that an exclusive holder got a larger fencing token than all holders before, as long as the counters
// exist.
func (p play) mustGrow(t *rapid.T, c claim, a answer) {
	for _, name := range c.Names {
		shared := c.Kind == "reader" || a.owned
		if a.number < p.highest[name] || (a.number == p.highest[name] && !shared) {
			t.Fatalf("%s got the fencing token %d of %q after %d", c.Token, a.number, name, p.highest[name])
		}
		p.highest[name] = a.number
	}
}

// ask submits an operation and compares the vote.
func (p play) ask(t *rapid.T, c claim, op *wire.Op, want answer) {
	v := p.subject.ask(op)
	blocker, blocked := kind.BlockerOf(v)
	got := answer{
		failed: v.Verdict == wire.Failed, granted: v.Verdict == wire.Granted, owned: v.Owned, healed: v.Healed,
		number: v.Number, said: p.messages(), intent: blocker.Intent,
	}
	if blocked {
		got.blocker = &wantBlocker{
			kind: blocker.Kind, name: blocker.NameIndex, left: blocker.TTL, token: blocker.Token, slots: blocker.Slots,
			taken: blocker.Taken,
		}
		if v.Verdict == wire.Denied && strings.Trim(blocker.Taken, "1") == "" && blocker.Slots > 1 {
			p.probed["full"]++
		}
	}
	if blocked && op.Name == "probe" && want.blocker != nil && p.redis == nil {
		want.blocker = p.tied(c, want.blocker, blocker.NameIndex)
	}
	if op.Name == "acquire" && want.granted && !c.Fencing {
		want.number = v.Number // SET NX and scripts return different numbers, which have no meaning here
	}
	if want.failed != (v.Err != nil) || fmt.Sprint(got.flat(p.round)) != fmt.Sprint(want.flat(p.round)) {
		t.Fatalf(
			"%s of %s %s on %v at %d:\n got %v, error %v\nwant %v", op.Name, c.Kind, c.Token, c.Names, p.model.now,
			got.flat(p.round), v.Err, want.flat(p.round),
		)
	}
	verdict := v.Verdict.String()
	p.probed[c.Kind+" "+op.Name+" "+verdict]++
	p.probed[op.Name+" "+verdict]++
	for rare, is := range map[string]bool{
		"healed": v.Healed, "owned": v.Owned,
		c.Kind + " intent": want.intent,
	} {
		if is {
			p.probed[rare]++
		}
	}
}

// tied returns the blocker at the i-th of the claim's names if it ends when want does. The clock of a real server may
// advance between two names of one script, so that either name ends last.
func (p play) tied(c claim, want *wantBlocker, i int) *wantBlocker {
	if by, ok := p.model.blocks(c, i); ok && p.round(by.left) == p.round(want.left) {
		return &by
	}
	return want
}

// flat returns the answer in a form to print and compare.
func (a answer) flat(round func(time.Duration) time.Duration) []any {
	by := wantBlocker{}
	if a.blocker != nil {
		by = *a.blocker
		by.left = round(by.left)
	}
	return []any{a.failed, a.granted, a.number, a.owned, a.healed, by, a.intent, a.said}
}

// compare compares the states of all names.
func (p play) compare(t *rapid.T) {
	names := []string{first}
	if slices.ContainsFunc(p.claims, func(c claim) bool { return slices.Contains(c.Names, second) }) {
		names = append(names, second)
	}
	for _, name := range names {
		v := p.subject.ask(inspectOp(name))
		held, fence, ttls, ok := stateIn(v)
		for _, token := range slices.Collect(maps.Keys(ttls)) {
			ttls[token] = p.round(ttls[token])
		}
		want := p.model.inspect(name)
		for token, left := range want.holds {
			want.holds[token] = p.round(left)
		}
		if got := (wantState{held, fence, ttls}); !ok || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("inspect %q at %d:\n got %v, error %v\nwant %v", name, p.model.now, got, v.Err, want)
		}
		r := p.model.at(name)
		left := p.round(time.Duration(max(0, r.kept-p.model.now)) * time.Millisecond)
		if got := p.round(max(0, p.left(p.t, kind.FenceKey(name)))); got != left {
			t.Fatalf("the fence of %q at %d is kept for %v, want %v", name, p.model.now, got, left)
		}
		if there := p.do(p.t, "exists", name) == int64(1); there != (r.kind != "") {
			t.Fatalf("at %d there is a key at %q: %v; the holds are %v", p.model.now, name, there, r.holds)
		}
		if r.kind != "" && r.kind != "mutex" {
			if all := p.scores(p.t, name); len(all) != len(r.holds)+len(r.ended) {
				t.Fatalf("at %d %q has %v; the holds are %v, and ended are %v", p.model.now, name, all, r.holds, r.ended)
			}
		}
		if len(r.ended) > 0 {
			p.probed["ended"]++
		}
		text, _ := p.client.Get(p.t.Context(), kind.FenceKey(name)).Result()
		if last, _, _ := strings.Cut(text, ":"); last != "" || r.last > 0 {
			if last != strconv.FormatInt(r.last, 10) {
				t.Fatalf("the fence of %q at %d: got %q, want %d", name, p.model.now, last, r.last)
			}
		} else if p.highest[name] > 0 {
			p.highest[name] = 0
			p.probed["forgotten"]++
		}
		intents, wanted := make(map[string]time.Duration), make(map[string]time.Duration)
		for intent, ends := range r.intents {
			wanted[intent] = p.round(time.Duration(ends) * time.Millisecond)
		}
		now := p.model.now
		if p.redis == nil {
			now = time.Since(p.epoch).Milliseconds()
		}
		for intent, ends := range p.scores(p.t, kind.IntentKey(name)) {
			if ends := ends - p.epoch.UnixMilli(); ends > now {
				intents[intent] = p.round(time.Duration(ends) * time.Millisecond)
			}
		}
		if fmt.Sprint(intents) != fmt.Sprint(wanted) {
			t.Fatalf("the intents of %q at %d: got %v, want %v", name, p.model.now, intents, wanted)
		}
	}
}

func TestMain(m *testing.M) {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() == "0" {
		_ = seed.Value.Set("1") // make fuzz draws others
	}
	testmain.Run(m)
}
