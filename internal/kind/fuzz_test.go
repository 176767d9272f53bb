package kind_test

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
)

// tagged matches a name with text between its first opening and the next closing brace.
var tagged = regexp.MustCompile(`(?s)^[^{]*\{[^}]+\}`)

// FuzzNames checks that two names have no key in common, that the keys are in the slots that CheckHashSlots says, and
// that the owner of a token can be read. The sibling keys of a name are in its slot, except for some names with braces,
// which a Locker refuses on a Cluster.
func FuzzNames(f *testing.F) {
	for _, pair := range [][2]string{
		{"a", "{a}"},
		{"a{b}c", ":a{b}c"},
		{"{a", "a}"},
		{"redlock:fence:{a}", "a"},
		{"", "x"},
		{"\x00\xff", "{}"},
		{"{a}", ":{a}"},
		{":{a}", "a"},
		{"a{", "x{}a{b}"},
		{"a}b", "{a}b}"},
		{"}{a}", "a{}b"},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		valid := func(name string) bool {
			return kind.Target{Kind: kind.Named("mutex"), Names: []string{name}}.Check() == nil
		}
		if kind.CheckOwner(a) == nil {
			assert.Equal(t, a, kind.OwnerOf(kind.NewToken(a)))
			assert.Equal(t, a, kind.OwnerOf(kind.KeptToken(kind.NewToken(a))))
		}
		if !valid(a) {
			return
		}
		keys := []string{kind.FenceKey(a), kind.IntentKey(a)}
		assert.NotEqual(t, keys[0], keys[1])
		together := true
		for _, key := range keys {
			assert.False(t, valid(key), "a lock could have the name %q", key)
			together = together && kind.HashSlot(key) == kind.HashSlot(a)
			if a != b {
				assert.NotContains(t, []string{b, kind.FenceKey(b), kind.IntentKey(b)}, key)
			}
		}
		assert.True(t, together || strings.Contains(a, "}") && !tagged.MatchString(a), "the slots of the keys of %q", a)
		assert.Equal(t, together, kind.CheckHashSlots("cluster:7000", []string{a}) == nil)
	})
}

// FuzzScripts runs a mutex's scripts with any arguments, on any string at the name and at its fence. They change no
// foreign key, and nothing if they fail; a fence never decreases, and an acquire increases it, at least to the hint.
func FuzzScripts(f *testing.F) {
	for _, counter := range []string{"", "7", "9007199254740990", "9007199254740991", "5:3", "1e3", " 7", "-1"} {
		f.Add("orders:42", "", counter, "host:1:cafe", int64(1000), int64(30000))
		f.Add("a{b}c", "another", counter, "x", int64(1)<<53, int64(1))
	}
	m, err := embedded.Open("")
	require.NoError(f, err)
	f.Cleanup(m.Close)
	s := open(f, m.URL(), &redis.Options{Addr: m.Addr()})
	f.Fuzz(func(t *testing.T, name, held, counter, token string, hint, ttl int64) {
		c := claim{Kind: "mutex", Names: []string{name}, Token: token, Fencing: true, Hint: hint}
		c.TTL = time.Duration(max(ttl, 10_000)) * time.Millisecond // nothing expires meanwhile
		valid := c.made().Target.Check() == nil && token != "" && len(token) <= kind.MaxToken
		if !valid || ttl < 1 || ttl > 1e10 || hint == 0 {
			return
		}
		m.Wipe()
		for key, value := range map[string]string{name: held, kind.FenceKey(name): counter} {
			if value != "" {
				s.do(t, "set", key, value)
			}
		}
		ops := c.Ops()
		for _, op := range []*wire.Op{ops.Acquire(), ops.Raise(hint), ops.Extend(hint), ops.Release(true)} {
			before := s.snapshot(t)
			was, isFence := s.counter(t, name)
			v := s.ask(t, op)
			require.NotEqual(t, wire.Unknown, v.Verdict, "%s: %v", op.Name, v.Err)
			foreign := held != "" && (held != token || op.Name == "acquire")
			if foreign {
				assert.NotEqual(t, wire.Granted, v.Verdict, op.Name)
			}
			if foreign || v.Verdict == wire.Failed {
				assert.Equal(t, before, s.snapshot(t), "%s: %v", op.Name, v.Err)
			}
			now, ok := s.counter(t, name)
			if isFence {
				assert.True(t, ok, op.Name)
				assert.GreaterOrEqual(t, now, was, "%s: the fence decreased", op.Name)
			}
			if op.Name == "acquire" && v.Verdict == wire.Granted {
				assert.Equal(t, now, v.Number)
				assert.GreaterOrEqual(t, now, hint)
				assert.Greater(t, now, was)
				assert.LessOrEqual(t, now, int64(largest))
			}
		}
	})
}

// counter returns the fence of the name, and whether it is one.
func (s *server) counter(t *testing.T, name string) (last int64, ok bool) {
	t.Helper()
	text, err := s.client.Get(context.Background(), kind.FenceKey(name)).Result()
	if err != nil {
		return 0, true
	}
	digits, _, _ := strings.Cut(text, ":")
	last, err = strconv.ParseInt(digits, 10, 64)
	return last, err == nil && last >= 0
}
