package kind_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// A command that fails inside a script fails the vote. Taken as a reply, the error would end a lock or make one. Only a
// failed PUBLISH is ignored, and a failed GETRANGE is replaced by GET.
func TestEveryFailedCommandFailsItsScript(t *testing.T) {
	t.Parallel()
	commands := scriptCommands(t)
	fails := make(map[string]int) // how often each command failed
	for name, st := range steps() {
		if st.refused != "" {
			continue
		}
		virtual().with(t, func(t *testing.T, s *server) {
			begin := func() {
				s.master.Heal()
				s.master.Wipe()
				for _, args := range st.given {
					s.do(t, args...)
				}
			}
			begin()
			before := make(map[string]int)
			for _, cmd := range commands {
				before[cmd] = s.master.CountNested(cmd)
			}
			s.ask(t, st.op)
			for _, cmd := range commands {
				if s.master.CountNested(cmd) == before[cmd] {
					continue // the operation does not call it
				}
				begin()
				s.master.Reply("ERR The user executing the script can't run this command or subcommand", cmd)
				v := s.ask(t, st.op)
				fails[cmd]++
				assert.Equal(t, wire.Failed, v.Verdict, "%s without %s", name, cmd)
				assert.False(t, v.Unsent, "%s without %s", name, cmd)
				assert.True(t, node.Permanent(v.Err), "%s without %s: %v", name, cmd, v.Err)
			}
		})
	}
	for _, cmd := range commands {
		assert.NotZero(t, fails[cmd], "%s: no step of the conformance test comes to it", cmd)
	}
}

// scriptCommands are the commands that scripts need.
func scriptCommands(t *testing.T) []string {
	t.Helper()
	found := make(map[string]bool)
	for _, text := range luaFiles(t) {
		for _, call := range regexp.MustCompile(`call\('([A-Z]+)'`).FindAllStringSubmatch(text, -1) {
			found[call[1]] = true
		}
	}
	delete(found, "PUBLISH")
	delete(found, "GETRANGE")
	return slices.Sorted(maps.Keys(found))
}

// luaFiles are the texts of all scripts, by file.
func luaFiles(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("lua/*.lua")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	texts := make(map[string]string)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		texts[file] = string(text)
	}
	return texts
}

// The scripts use no command and no option that is younger than Redis 6.2. A server of version 7.0 or later reports the
// version of each.
func TestScriptsKeepToRedis62(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	s, err := redisproc.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), Protocol: 3}) // replies have maps
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
		reply, err := c.Do(t.Context(), "command", "docs", command).Result()
		require.NoError(t, err, "COMMAND DOCS, of Redis 7.0")
		doc, ok := reply.(map[any]any)[strings.ToLower(command)].(map[any]any)
		require.True(t, ok, command)
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
		argument, _ := one.(map[any]any)
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

// The short part of a script does the most frequent work, with few commands. The long part would do the same with more.
func TestTheShortPartsOfScriptsDoTheirWork(t *testing.T) {
	t.Parallel()
	fenced := claimOf("mutex", holdToken, true)
	fenced.Hint = largest
	counter := [][]any{{"set", kind.FenceKey(lockName), largest - 1}}
	renew := claimOf("mutex", holdToken, false).Ops().Extend(0)
	permit := claimOf("semaphore", holdToken, false)
	permitOf := func(slot string, ttl time.Duration) [][]any {
		return entries{entryOf("semaphore", "2:"+slot+":"+otherToken): ttl}.made(lockName)
	}
	for name, tt := range map[string]struct {
		given    [][]any
		op       *wire.Op
		commands int // but GETRANGE
	}{
		"a mutex with a fence":        {nil, fenced.Ops().Acquire(), 3},
		"and a counter of 16 digits":  {counter, fenced.Ops().Acquire(), 3},
		"a mutex that is renewed":     {fenced.held(), renew, 1},
		"a reader":                    {nil, claimOf("reader", holdToken, false).Ops().Acquire(), 5},
		"a writer":                    {nil, claimOf("writer", holdToken, false).Ops().Acquire(), 4},
		"a reentrant lock":            {nil, claimOf("reentrant", holdToken, false).Ops().Acquire(), 5},
		"a permit":                    {nil, permit.Ops().Acquire(), 4},
		"a permit beside another":     {permitOf("2", time.Second), permit.Ops().Acquire(), 6},
		"a permit beside a long one":  {permitOf("2", time.Hour), permit.Ops().Acquire(), 5},
		"a permit after another ends": {permitOf("1", -time.Second), permit.Ops().Acquire(), 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			virtual().with(t, func(t *testing.T, s *server) {
				for _, args := range tt.given {
					s.do(t, args...)
				}
				count := func() (n int) {
					for _, cmd := range scriptCommands(t) {
						n += s.master.CountNested(cmd)
					}
					return n
				}
				before := count()
				require.Equal(t, wire.Granted, s.ask(t, tt.op).Verdict)
				assert.Equal(t, tt.commands, count()-before)
			})
		})
	}
}
