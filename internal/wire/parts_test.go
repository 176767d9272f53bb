package wire

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/node"
)

func TestVotesAreCounted(t *testing.T) {
	t.Parallel()
	var v voteCounts
	c := anyCall()
	v.count(at(10))
	v.count(at(10), delivery{c, Vote{Verdict: Granted}}, delivery{c, Vote{Verdict: Denied}}, delivery{c, Vote{}})
	for range 2 {
		v.count(at(10), delivery{c, Vote{Verdict: Failed, Unsent: true, Err: node.ErrDropped}})
	}
	v.count(at(10), delivery{c, Vote{Verdict: Failed, Unsent: true, Err: node.ErrBusy}})
	v.count(at(10), delivery{c, Vote{Verdict: Failed, Err: node.ErrDropped}})
	v.count(at(10), delivery{anyCall(durable), Vote{Verdict: Denied}}) // nothing is refused
	assert.Equal(t, [4]int64{Unknown: 1, Failed: 2, Denied: 1, Granted: 1}, v.byVerdict)
	assert.EqualValues(t, 2, v.dropped, "only what was not written")
	assert.EqualValues(t, 2, v.latency.Count())
}

func TestTheVersionInAStatus(t *testing.T) {
	t.Parallel()
	for info, want := range map[string]Status{
		"role:master\r\nredis_version:7.2.4\r\nuptime_in_seconds:5\r\nloading:1\r\n": {
			Role: "master", Version: "7.2.4", Uptime: 5 * time.Second, Loading: true,
		},
		"role:slave\r\nredis_version:7.2.4\r\nvalkey_version:8.0.1\r\nuptime_in_seconds:5\r\n": {
			Role: "slave", Version: "valkey 8.0.1", Uptime: 5 * time.Second,
		},
	} {
		v := readStatus(info)
		assert.Equal(t, Granted, v.Verdict)
		assert.Equal(t, want, v.Data)
	}
	for _, reply := range []any{nil, int64(1), "", "redis_version:7.2.4\r\n"} {
		assert.NotEqual(t, Granted, readStatus(reply).Verdict, "%v", reply)
	}
}

// The encoded command of a script does not outgrow the memory that is reserved for it.
func TestTheSizeOfAScript(t *testing.T) {
	t.Parallel()
	args := slices.Repeat([]any{math.MinInt}, 10)
	assert.GreaterOrEqual(t, undoScript.size(nil, args), len(undoScript.Op("x", nil, nil, args...).out))
	keys := slices.Repeat([]string{strings.Repeat("x", 99_999)}, 100)
	assert.GreaterOrEqual(t, undoScript.size(keys, nil), len(undoScript.Op("x", nil, keys).out))
}

func TestWhenTheKeysOfACallExpire(t *testing.T) {
	t.Parallel()
	c := anyCall(expiringAt(at(20)))
	c.confirmed(at(9))
	c.expireAt(at(30))
	assert.Equal(t, at(20), c.expiresAt(), "it was known before")
	c = anyCall(durable)
	c.confirmed(at(9))
	assert.Zero(t, c.expiresAt())
	c.expireAt(at(30))
	assert.Equal(t, at(30), c.expiresAt())
}

var errBroken = errors.New("broken")

func TestHealthBacksOff(t *testing.T) {
	t.Parallel()
	var h health
	assert.True(t, h.due(epoch), "a master that is not suspect")
	now := epoch
	for i, wait := range []time.Duration{20, 40, 80, 160, 320, 500, 500} {
		assert.Equal(t, i == 0, h.fail(errBroken, now), "only the first failure changes something")
		require.ErrorIs(t, h.suspect, errBroken)
		assert.False(t, h.due(now.Add(wait*time.Millisecond-1)))
		now = now.Add(wait * time.Millisecond)
		assert.True(t, h.due(now))
	}
	assert.True(t, h.answer())
	assert.False(t, h.answer(), "nothing changes")
	assert.True(t, h.due(now.Add(-1)), "it is not suspect any more")
	h.fail(errBroken, now)
	assert.Equal(t, now.Add(retryMin), h.retryAt, "the backoff begins again")
}

func TestHealthJudgesByExpiredCalls(t *testing.T) {
	t.Parallel()
	r := &Request{Asked: at(10), Deadline: at(12)}
	for name, c := range map[string]struct {
		silentSince float64
		want        bool
	}{
		"silent for all of the call's time":  {10, true},
		"silent for longer":                  {1, true},
		"silent for half of it":              {11, true},
		"it answered, the call only queued":  {11.1, false},
		"it has answered at the last moment": {12, false},
	} {
		var h health
		assert.Equal(t, c.want, h.expire(r, node.ErrTimeout, at(c.silentSince), at(12)), name)
		assert.Equal(t, c.want, h.suspect != nil, name)
	}
	var h health
	h.fail(errBroken, at(11.9))
	retryAt := h.retryAt
	assert.False(t, h.expire(r, node.ErrTimeout, at(10), at(12)))
	assert.Equal(t, retryAt, h.retryAt, "the next try is not postponed")
	assert.ErrorIs(t, h.suspect, errBroken)
}

// A master that accepts connections and ends each is tried ever more rarely, until it answers.
func TestAMasterThatHangsUpIsTriedMoreRarely(t *testing.T) {
	t.Parallel()
	for err, most := range map[error]time.Duration{errNotConnected: retryMax, io.EOF: hangUpMax} {
		var h health
		for range 20 {
			h.fail(err, epoch)
		}
		assert.Equal(t, most, h.backoff, err)
		h.answer()
		h.fail(err, epoch)
		assert.Equal(t, retryMin, h.backoff, "%v: after an answer", err)
	}
}

func TestPacingHasAGapForADistantMasterOnly(t *testing.T) {
	t.Parallel()
	for rtt, want := range map[time.Duration]time.Duration{
		0:                      0,
		200 * time.Microsecond: 0,
		8*time.Millisecond - 1: 0,
		8 * time.Millisecond:   time.Millisecond,
		80 * time.Millisecond:  10 * time.Millisecond,
	} {
		w := pacing{lastSent: at(1)}
		if rtt > 0 {
			w.rtt.measure(rtt, epoch)
		}
		assert.Equal(t, want, w.gap(), rtt.String())
		assert.Equal(t, at(1).Add(want), w.nextAt())
	}
}

func TestPacingStallsAfterTwoSilentRoundTrips(t *testing.T) {
	t.Parallel()
	var w pacing
	w.rtt.measure(time.Second, epoch)
	assert.False(t, w.stalled(at(10), at(12)))
	assert.True(t, w.stalled(at(10), at(12).Add(1)))
}

func TestWhenTheDriverYields(t *testing.T) {
	t.Parallel()
	y := yield{batch: 1}
	assert.False(t, y.before(at(1)), "a lone caller")
	now := at(2)
	batchesWithout := func(took time.Duration) (n int) {
		require.True(t, y.before(now))
		now = now.Add(took)
		require.False(t, y.before(now), "after the yield")
		for probe := y; !probe.before(now); n++ {
			y = probe
		}
		return n
	}
	y.batch = 2
	assert.Equal(t, 0, batchesWithout(longYield-1))
	for _, want := range []int{15, 255, 1023, 1023} {
		assert.Equal(t, want, batchesWithout(longYield))
	}
	for _, want := range []int{511, 255, 127} {
		assert.Equal(t, want, batchesWithout(longYield-1))
	}
	assert.Equal(t, 1023, batchesWithout(longYield), "it is still remembered")
}

func TestMinRTTForgetsAfterAWhile(t *testing.T) {
	t.Parallel()
	var m minRTT
	for _, step := range []struct {
		seconds float64
		rtt     time.Duration
		want    time.Duration
		why     string
	}{
		{0, 50, 50, "the first"},
		{1, 80, 50, "a longer one includes waiting"},
		{2, 40, 40, "a shorter one counts at once"},
		{11, 90, 40, "of the period before"},
		{20, 70, 40, "of the period before"},
		{21, 90, 70, "the period before has 70"},
		{60, 95, 95, "all others are too old"},
	} {
		m.measure(step.rtt*time.Millisecond, at(step.seconds))
		assert.Equal(t, step.want*time.Millisecond, m.shortest, "at %v: %s", step.seconds, step.why)
	}
}

// fakeSubscription is a subscription that has ended.
type fakeSubscription struct{ closed atomic.Bool }

func (f *fakeSubscription) Subscribe([]string) error   { return nil }
func (f *fakeSubscription) Unsubscribe([]string) error { return nil }

func (f *fakeSubscription) Receive() (channel, text string, err error) { return "", "", errBroken }

func (f *fakeSubscription) Close() { f.closed.Store(true) }

func TestAListenerClosesItsSubscriptions(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]func(stop, cancel func()){
		"it stops":                func(stop, _ func()) { stop() },
		"the node's context ends": func(_, cancel func()) { cancel() },
	}, func(t *testing.T, end func(stop, cancel func())) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var mu sync.Mutex
			var made []*fakeSubscription
			var connecting atomic.Bool
			ls := newListener(ctx, clock.System, func(context.Context) (link.Subscription, error) {
				sub := &fakeSubscription{}
				mu.Lock()
				made = append(made, sub)
				mu.Unlock()
				connecting.Store(true)
				time.Sleep(subscribedFor) // it takes long
				connecting.Store(false)
				return sub, nil
			})
			var reports []string
			ls.report = func(err error) {
				mu.Lock()
				defer mu.Unlock()
				reports = append(reports, err.Error())
			}
			var all sync.WaitGroup
			ls.spawn = func(f func() error) { all.Go(func() { _ = f() }) }
			stop := ls.listen("a", func(string) {})
			time.Sleep(time.Hour)
			synctest.Wait()
			mu.Lock()
			assert.InDelta(t, 80, len(made), 30, "it waits, longer and longer, before it replaces a connection")
			assert.Equal(t, []string{"no subscription: broken"}, reports)
			before := len(made)
			mu.Unlock()
			if connecting.Load() {
				time.Sleep(subscribedFor + time.Second) // and then it waits again, for longer
			}
			signal(ls.retry)
			synctest.Wait()
			mu.Lock()
			assert.Len(t, made, before+1, "the master answers again")
			mu.Unlock()
			end(stop, cancel)
			all.Wait()
			for _, sub := range made {
				assert.True(t, sub.closed.Load())
			}
		})
	})
}

func TestAListenerDoesNotReportTheEndOfItsNode(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ls := newListener(ctx, clock.System, nil)
	ls.failures, ls.report = endedOften, func(err error) { t.Error(err) }
	ls.reportFailure(errBroken)
}
