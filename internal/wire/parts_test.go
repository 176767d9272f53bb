package wire

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

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
