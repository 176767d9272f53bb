package kind_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/redisproc"
)

// The scripts use no command and no option that is younger than Redis 6.2. A server of version 7.0 or later reports the
// version of each.
func TestScriptsKeepToRedis62(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	s, err := redisproc.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), Protocol: 2})
	defer c.Close()

	used := map[string][]string{"SET": {"NX", "PX"}} // with their options; this one is sent as it is
	call := regexp.MustCompile(`redis\.p?call\('(\w+)'(.*)`)
	calls := 0
	for _, text := range luaFiles(t) {
		for _, found := range call.FindAllStringSubmatch(text, -1) {
			calls++
			for _, option := range regexp.MustCompile(`'([A-Z]+)'`).FindAllStringSubmatch(found[2], -1) {
				used[found[1]] = append(used[found[1]], option[1])
			}
			used[found[1]] = append(used[found[1]], "")
		}
		calls -= len(regexp.MustCompile(`redis\.p?call\b`).FindAllString(text, -1))
	}
	assert.Zero(t, calls, "every call names its command in its line")

	since := func(command, option string) string {
		t.Helper()
		reply, err := c.Do(t.Context(), "command", "docs", command).Slice()
		require.NoError(t, err, "COMMAND DOCS, of Redis 7.0")
		require.Len(t, reply, 2, command)
		doc := fields(reply[1])
		if option == "" {
			return fmt.Sprint(doc["since"])
		}
		came, ok := optionSince(doc["arguments"], option, fmt.Sprint(doc["since"]))
		require.True(t, ok, "%s %s", command, option)
		return came
	}
	for command, options := range used {
		for _, option := range slices.Compact(slices.Sorted(slices.Values(options))) {
			var major, minor int
			_, err := fmt.Sscanf(since(command, option), "%d.%d", &major, &minor)
			require.NoError(t, err)
			assert.LessOrEqual(t, 100*major+minor, 602, "%s %s", command, option)
		}
	}
	assert.Equal(t, "7.0.0", since("PEXPIRE", "GT"), "it knows what is younger")
	assert.Equal(t, "7.0.0", since("LMPOP", ""), "it knows what is younger")
}

// optionSince returns the version that added an option among the arguments; by default that of the arguments' command.
func optionSince(arguments any, option, with string) (since string, ok bool) {
	list, _ := arguments.([]any)
	for _, one := range list {
		argument := fields(one)
		version, ok := argument["since"].(string)
		if !ok {
			version = with
		}
		if strings.EqualFold(fmt.Sprint(argument["token"]), option) {
			return version, true
		}
		if version, ok = optionSince(argument["arguments"], option, version); ok {
			return version, true
		}
	}
	return "", false
}

// fields returns a map that the server sent as a list.
func fields(list any) map[string]any {
	m := make(map[string]any)
	pairs, _ := list.([]any)
	for pair := range slices.Chunk(pairs, 2) {
		m[fmt.Sprint(pair[0])] = pair[1]
	}
	return m
}
