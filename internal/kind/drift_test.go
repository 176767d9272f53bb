package kind_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/redlock-go/redlock/internal/wire"
)

// A common form of a reentrant lock: the owner and a count of holds. lua/entry_*.lua has the form of this project.
var (
	countedAcquire = wire.NewScript(`
		if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
		redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
		redis.call('PEXPIRE', KEYS[1], ARGV[2])
		return 1`)
	countedExtend = wire.NewScript(`
		if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
		return redis.call('PEXPIRE', KEYS[1], ARGV[2])`)
	countedRelease = wire.NewScript(`
		if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
		if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) <= 0 then redis.call('DEL', KEYS[1]) end
		return 1`)
	countedDepth = wire.NewScript(`return tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0)`)
)

// TestHoldsDoNotDriftAsCountsDo acquires and releases holds of one owner on a master that loses some operations and
// executes others twice, because they were sent again after a lost reply. The master always has exactly the live holds
// that reached it. The same operations leave a counter too large, so that the name never becomes free, or too small, so
// that another owner gets the lock.
func TestHoldsDoNotDriftAsCountsDo(t *testing.T) {
	t.Parallel()
	const ttl = 100 * time.Millisecond
	const counter, owner = "counted", "one"
	s := newSubject(t)
	tooMany, tooFew, shut, open := 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s.begin()
		live := make(map[string]int64) // when each hold ends, according to the operations that reached the master
		var handles []claim            // of the holders
		made := 0
		send := func(t *rapid.T, ours, theirs *wire.Op) (arrived bool) {
			times := rapid.SampledFrom([]int{1, 1, 0, 2}).Draw(t, "times")
			for range times {
				s.ask(ours)
				s.ask(theirs)
			}
			return times > 0
		}
		counted := func(script *wire.Script) *wire.Op {
			return script.Op("count", nil, []string{counter}, owner, ttl.Milliseconds())
		}
		due := func() int64 { return s.model.now + ttl.Milliseconds() }
		t.Repeat(map[string]func(*rapid.T){
			"lock": func(t *rapid.T) {
				made++
				c := claim{Kind: "reentrant", Names: []string{first}, Token: fmt.Sprintf("%s:%032d", owner, made), TTL: ttl}
				handles = append(handles, c)
				if send(t, c.Ops().Acquire(), counted(countedAcquire)) {
					live[c.Token] = due()
				}
			},
			"unlock": func(t *rapid.T) {
				if len(handles) == 0 {
					t.Skip("no holder")
				}
				i := rapid.IntRange(0, len(handles)-1).Draw(t, "hold")
				c := handles[i]
				handles = slices.Delete(handles, i, i+1)
				if send(t, c.Ops().Release(false), counted(countedRelease)) {
					delete(live, c.Token)
				}
			},
			"keep alive": func(t *rapid.T) {
				for _, c := range handles {
					if send(t, c.Ops().Extend(0), counted(countedExtend)) {
						live[c.Token] = due()
					}
				}
			},
			"wait": func(t *rapid.T) {
				s.pass(rapid.Int64Range(1, ttl.Milliseconds()/2).Draw(t, "milliseconds"))
			},
			"": func(t *rapid.T) {
				want := wantState{holds: make(entries)}
				for token, end := range live {
					if end > s.model.now {
						want.kind = "reentrant"
						want.holds[token] = time.Duration(end-s.model.now) * time.Millisecond
					}
				}
				k, fence, ttls, _ := stateIn(s.ask(inspectOp(first)))
				if got := (wantState{k, fence, ttls}); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("the master has %v, and reported %v", got, want)
				}
				n, holds := int(s.ask(counted(countedDepth)).Number), len(want.holds)
				tooMany, tooFew = tooMany+max(0, n-holds), tooFew+max(0, holds-n)
				if n > 0 && holds == 0 {
					shut++
				}
				if n == 0 && holds > 0 {
					open++
				}
			},
		})
	})
	t.Log(tooMany, "too many,", tooFew, "too few,", shut, "times shut,", open, "times open")
	for what, times := range map[string]int{
		"too many": tooMany, "too few": tooFew, "no holder, and not free": shut, "it is held, and strangers may": open,
	} {
		require.Positive(t, times, "a counter does not drift: %s", what)
	}
}
