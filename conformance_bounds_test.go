package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/node"
)

const (
	tooLarge = 1 << 53      // a double does not hold the next number
	largest  = tooLarge - 1 // the largest fencing token
)

// fencedClaims are one fenced claim of every kind, and the commands that make each held.
func fencedClaims() map[string]struct {
	claim redlock.Claim
	mine  [][]any
} {
	all := make(map[string]struct {
		claim redlock.Claim
		mine  [][]any
	})
	for _, names := range [][]string{{lockName}, {otherKey, lockName}} {
		one := all[""]
		one.claim = redlock.Claim{Kind: "mutex", Names: names, Token: lockToken, TTL: lockTTL, Fencing: true, Hint: hint}
		one.mine = several{names, true}.mine()
		all[fmt.Sprintf("a mutex of %d", len(names))] = one
	}
	for _, kind := range []string{"reader", "writer", "reentrant"} {
		one := all[""]
		one.claim, one.mine = entryClaim(kind, holdToken, true), held(kind, holdToken).made()
		all["a "+kind] = one
	}
	delete(all, "")
	return all
}

// boundSteps are those of every operation that takes a fencing token, with one that is none, and where none is left.
func boundSteps() map[string]step {
	all := make(map[string]step)
	fence := redlock.FenceKey(lockName)
	failed := node.Vote{Verdict: node.Failed}
	for who, c := range fencedClaims() {
		claim, mine := c.claim, c.mine
		given := func(more ...[]any) [][]any { return append(more, mine...) }
		for _, bad := range []int64{tooLarge, tooLarge + 2, 1<<63 - 1, -1, -1 << 63} {
			claim.Hint = bad
			for _, counter := range [][]any{{"set", fence, 7, "px", 5000}, {"set", fence, "7:5", "px", 5000}, {"set", fence, 7}} {
				text := fmt.Sprint(counter[2:])
				add := func(op *node.Op, given [][]any) {
					all[fmt.Sprintf("%s, %s: a token of %d, a fence of %s", op.Name, who, bad, text)] = step{
						given: given, op: op, vote: failed, refused: "is no fencing token",
					}
				}
				add(claim.Ops().Acquire(), [][]any{counter})
				add(claim.Ops().Raise(bad), given(counter))
				add(claim.Ops().Extend(bad), given(counter))
			}
		}
		claim.Hint = hint
		for _, last := range []string{fmt.Sprint(largest), fmt.Sprintf("%d:7", largest)} {
			all[fmt.Sprintf("acquire, %s: no token is left after %s", who, last)] = step{
				given: [][]any{{"set", fence, last, "px", 5000}}, op: claim.Ops().Acquire(), vote: failed, refused: "used up",
			}
		}
		for _, last := range []string{"9007199254740992", "7:9007199254740992", "99999999999999999999"} {
			full := []any{"set", fence, last, "px", 5000}
			for _, op := range []*node.Op{claim.Ops().Acquire(), claim.Ops().Raise(hint), claim.Ops().Extend(hint)} {
				st := step{given: given(full), op: op, vote: failed, refused: "delete the key on every master"}
				if op.Name == "acquire" {
					st.given = [][]any{full}
				}
				all[fmt.Sprintf("%s, %s: a fence of %s", op.Name, who, last)] = st
			}
		}
		for _, last := range []string{"7", "7:7", fmt.Sprint(hint + 7)} {
			for _, op := range []*node.Op{claim.Ops().Acquire(), claim.Ops().Raise(hint + 9), claim.Ops().Extend(hint + 9)} {
				st := step{given: given([]any{"set", fence, last}), op: op, vote: node.Vote{Verdict: node.Granted}, then: keeps(lockName)}
				if st.vote.Number = map[string]int64{"raise": hint + 9, "extend": 1}[op.Name]; op.Name == "acquire" {
					st.given, st.vote.Number = [][]any{{"set", fence, last}}, hint
					if last == fmt.Sprint(hint+7) {
						st.vote.Number = hint + 8
					}
				}
				all[fmt.Sprintf("%s, %s: a fence of %s without a TTL", op.Name, who, last)] = st
			}
		}
	}
	claim := entryClaim("reentrant", holdToken, false)
	for _, op := range []*node.Op{claim.Ops().Acquire(), claim.Ops().Extend(0)} {
		st := step{given: [][]any{{"set", fence, "7:7"}}, op: op, vote: node.Vote{Verdict: node.Granted, Number: 1}, then: keeps(lockName)}
		if op.Name == "extend" {
			st.vote = node.Vote{Verdict: node.Denied, Healed: true}
		}
		all[op.Name+", a reentrant without fencing: a fence of an earlier owner without a TTL"] = st
	}
	return all
}

// keeps asserts that the fence of a name goes a day and a TTL from now.
func keeps(name string) func(t *testing.T, s *server) {
	return func(t *testing.T, s *server) {
		t.Helper()
		assertLeft(t, lockTTL+fenceLife, s.left(t, redlock.FenceKey(name)))
		assert.Positive(t, s.left(t, redlock.FenceKey(name)), "it has a TTL")
	}
}

// A client sends whole numbers. What a script is sent otherwise changes nothing all the same.
func TestScriptsRefuseWhatIsNoFencingToken(t *testing.T) {
	t.Parallel()
	fence := redlock.FenceKey(lockName)
	for _, p := range []place{virtual(), real(t, "redis-server", "")} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.need(t)
			for _, kind := range []string{"mutex", "reader", "writer", "reentrant"} {
				for _, text := range []string{"1.5", "1e3", "0x10", " 7", "+7", "nan", "inf", "7:5"} {
					p.with(t, func(t *testing.T, s *server) {
						s.do(t, "set", fence, 7, "px", 5000)
						before := s.snapshot(t)
						err := s.client.Eval(t.Context(), redlock.AcquireScript(kind), []string{lockName, fence, redlock.IntentKey(lockName)},
							acquireArgs(kind, text)...).Err()
						require.ErrorContains(t, err, "is no fencing token", "%s %q", kind, text)
						assert.Equal(t, before, s.snapshot(t), "%s %q", kind, text)
					})
				}
			}
		})
	}
}

// acquireArgs are the arguments of a kind's acquire script with a hint that no client sends.
func acquireArgs(kind, text string) []any {
	ttl, keep := lockTTL.Milliseconds(), (lockTTL + fenceLife).Milliseconds()
	if kind == "mutex" {
		return []any{lockToken, ttl, text, keep}
	}
	return []any{kind, holdToken, ttl, text, keep, ""}
}

// Every SET of a fence in every script names a TTL.
func TestNoScriptWritesAKeyWithoutATTL(t *testing.T) {
	t.Parallel()
	for file, text := range luaFiles(t) {
		for line := range strings.Lines(text) {
			if strings.Contains(line, "call('SET'") {
				assert.Contains(t, line, "'PX', ", file)
				assert.NotContains(t, line, "KEEPTTL", "%s: there may be none to keep", file)
			}
		}
	}
}

func TestAClockThatIsWrongByCenturiesGivesNoFencingToken(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct {
		ahead time.Duration
		year  string
	}{
		"past the year 2255": {290 * 365 * 24 * time.Hour, "2289"},
		"before 1970":        {-31 * 365 * 24 * time.Hour, "1969"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				l, sound := w.locker(t, "a", redlock.WithFencing()), w.locker(t, "b", redlock.WithFencing())
				before := fenced(t, sound, "x")
				unlock(t, before)
				synctest.Wait() // the third master has answered, too
				w.Host("a").Clock().Ahead(at.ahead)
				w.forget()
				for what, f := range map[string]func() (*redlock.Lock, error){
					"Lock":       func() (*redlock.Lock, error) { return l.Lock(within(t, time.Minute), "x") },
					"TryLock":    func() (*redlock.Lock, error) { return l.TryLock(within(t, time.Minute), "x") },
					"LockAll":    func() (*redlock.Lock, error) { return l.LockAll(within(t, time.Minute), []string{"x", "y"}) },
					"RLock":      func() (*redlock.Lock, error) { return l.RW("x").RLock(within(t, time.Minute)) },
					"RW.Lock":    func() (*redlock.Lock, error) { return l.RW("x").Lock(within(t, time.Minute)) },
					"Reentrant":  func() (*redlock.Lock, error) { return l.Reentrant("x", "me").Lock(within(t, time.Minute)) },
					"RW.TryLock": func() (*redlock.Lock, error) { return l.RW("x").TryLock(t.Context()) },
				} {
					_, err := f()
					require.ErrorContains(t, err, "clock", what)
					require.ErrorContains(t, err, at.year, what)
					require.ErrorContains(t, err, "2255", what)
				}
				assert.Empty(t, w.asked(), "nothing was sent")
				assert.Greater(t, fenced(t, sound, "x").Fence(), before.Fence(), "the name goes on")
			})
		})
	}
	t.Run("without fencing it does not matter", func(t *testing.T) {
		t.Parallel()
		inWorld(t, 3, func(t *testing.T, w *world) {
			l := w.locker(t, "a")
			w.Host("a").Clock().Ahead(290 * 365 * 24 * time.Hour)
			unlock(t, lock(t, l, "x"))
		})
	})
}

func TestALockSaysHowToRecoverAFenceAtItsLimitAndDoesNotWait(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithFencing())
		for _, m := range w.Masters() {
			count(m, "x", fmt.Sprint(int64(largest)))
		}
		for what, take := range map[string]func() (*redlock.Lock, error){
			"TryLock":   func() (*redlock.Lock, error) { return l.TryLock(t.Context(), "x") },
			"Lock":      func() (*redlock.Lock, error) { return l.Lock(within(t, time.Minute), "x") },
			"LockAll":   func() (*redlock.Lock, error) { return l.LockAll(within(t, time.Minute), []string{"x", "y"}) },
			"RLock":     func() (*redlock.Lock, error) { return l.RW("x").RLock(within(t, time.Minute)) },
			"RW.Lock":   func() (*redlock.Lock, error) { return l.RW("x").Lock(within(t, time.Minute)) },
			"Reentrant": func() (*redlock.Lock, error) { return l.Reentrant("x", "me").Lock(within(t, time.Minute)) },
		} {
			_, err := take()
			require.ErrorIs(t, err, redlock.ErrNoQuorum, what)
			require.NotErrorIs(t, err, context.DeadlineExceeded, what)
			require.ErrorContains(t, err, "delete the key on every master", what)
		}
		for _, m := range w.Masters() { // as the error says
			m.Redis().Del(redlock.FenceKey("x"))
		}
		assert.NotZero(t, fenced(t, l, "x").Fence())
	})
}
