package doctor_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/doctor"
	"github.com/redlock-go/redlock/internal/redisproc"
)

const someToken = "web-1:0123456789abcdef0123456789abcdef"

// set sets n keys to a value; without a TTL if it is 0.
func set(t *testing.T, c *redis.Client, n int, prefix, value string, ttl time.Duration) {
	t.Helper()
	_, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range n {
			p.Set(t.Context(), fmt.Sprint(prefix, i), value, ttl)
		}
		return nil
	})
	require.NoError(t, err)
}

// Of many locks, all are read up to a bound.
func TestManyLocks(t *testing.T) {
	t.Parallel()
	const endless, skipped = "a lock without an end", "not all keys were looked at"
	server := redisproc.ForTest(t, 1)[0]
	c := connect(t, server)
	set(t, c, 3000, "held", someToken, time.Minute)
	set(t, c, 1200, "endless", someToken, 0)
	report := examineFor(t, 3*time.Second, []string{server.URL()})
	found := titled(report, endless)
	require.Len(t, found, 1, "%v", report)
	assert.Regexp(t, `1200 without a TTL: ("endless\d+", ){4}"endless\d+" and 1195 more`, found[0].Why)
	assert.Empty(t, titled(report, skipped))

	set(t, c, 10_000, "other", "x", 0)
	report = examineFor(t, 3*time.Second, []string{server.URL()})
	found = titled(report, skipped)
	require.Len(t, found, 1, "%v", report)
	assert.Regexp(t, `1\d{4} keys were looked at`, found[0].Why)
}

// SCAN may do so while Redis moves its keys into a larger table.
func TestALockThatSCANReturnsTwiceIsOneLock(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{`"a"`, `"b"`}, doctor.Endless("a", "b", "a"))
}

// After many deletions most pages of SCAN are empty. A child keeps Redis from making the table smaller.
func TestALockBehindEmptyPages(t *testing.T) {
	t.Parallel()
	server := redisproc.ForTest(t, 1, "--rdb-key-save-delay", "1000000")[0]
	c := connect(t, server)
	set(t, c, 30_000, "x", "1", 0)
	require.NoError(t, c.BgSave(t.Context()).Err())
	set(t, c, 1, "endless", someToken, 0)
	_, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range 30_000 {
			p.Del(t.Context(), fmt.Sprint("x", i))
		}
		return nil
	})
	require.NoError(t, err)
	keys, cursor, err := c.Scan(t.Context(), 0, "", 500).Result()
	require.NoError(t, err)
	assert.NotZero(t, cursor, "there are more pages")
	assert.LessOrEqual(t, len(keys), 1, "this one is all but empty")
	report := examineFor(t, 3*time.Second, []string{server.URL()})
	found := titled(report, "a lock without an end")
	require.Len(t, found, 1, "%v", report)
	assert.Contains(t, found[0].Why, `1 without a TTL: "endless0"`)
	assert.Empty(t, titled(report, "not all keys were looked at"))
}

// What other programs keep is no lock, and nobody is told to delete it.
func TestOtherProgramsData(t *testing.T) {
	t.Parallel()
	server := redisproc.ForTest(t, 1)[0]
	c := connect(t, server)
	for key, value := range map[string]string{
		"lock": "1", "door.lock": "open", "LOCK:orders": "9f1c", "redlock": "yes", "clock": "12:00",
		"hash": "0123456789abcdef0123456789abcdef", "json": `{"id":"a:0123456789abcdef0123456789abcdef"}`,
		"upper": "web-1:0123456789ABCDEF0123456789ABCDEF", "long": "web-1:00123456789abcdef0123456789abcdef0",
	} {
		require.NoError(t, c.Set(t.Context(), key, value, 0).Err())
	}
	require.NoError(t, c.HSet(t.Context(), "locks", "a", someToken).Err())
	require.NoError(t, c.RPush(t.Context(), "lockers", someToken).Err())
	require.NoError(t, c.ZAdd(t.Context(), "leaders", redis.Z{Score: 1, Member: someToken}).Err())
	assert.Empty(t, titled(examine(t, []string{server.URL()}), "a lock without an end"))

	require.NoError(t, c.Set(t.Context(), "like one of ours", someToken, 0).Err())
	found := titled(examine(t, []string{server.URL()}), "a lock without an end")
	require.Len(t, found, 1)
	assert.NotRegexp(t, `\b(DEL|UNLINK|EXPIRE)\b`, found[0].Fix)
	assert.Empty(t, found[0].Commands)
}
