package kind_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
)

// The test compares each row of the table of kinds with the scripts. It also covers a new kind, by its row.
func TestScriptsFollowTheTableOfKinds(t *testing.T) {
	t.Parallel()
	one, two, other := tokenOf("one", "1"), tokenOf("one", "2"), tokenOf("other", "3")
	for _, k := range kind.All {
		of := func(token string) claim { return claimOf(k.Name, token, false) }
		for rule, check := range map[string]func(t *testing.T, s *server){
			"sharing": func(t *testing.T, s *server) {
				require.True(t, s.grants(t, of(one).Ops().Acquire()))
				assert.Equal(t, k.Nested() || k.SharedByAll(), s.grants(t, of(two).Ops().Acquire()), "another hold of the owner")
				assert.Equal(t, k.Sharing == kind.WithAll, s.grants(t, of(other).Ops().Acquire()), "another owner's hold")
				third := of(two)
				third.Slot = 2
				assert.Equal(t, k.Slotted(), s.grants(t, third.Ops().Acquire()) && k.Slotted(), "another slot")
				third.Slot, third.Slots = 3, 3
				assert.False(t, k.Slotted() && s.grants(t, third.Ops().Acquire()), "another number of slots")
				for _, second := range kind.All {
					c := of(two)
					c.Kind = second.Name
					if second != k {
						assert.False(t, s.grants(t, c.Ops().Acquire()), "a %s", second.Name)
					}
				}
			},
			"intents": func(t *testing.T, s *server) {
				if k.Intents == kind.IntentNever {
					return
				}
				waiter := of(one)
				waiter.Intent = "waiter"
				for _, holder := range append(kind.All, nil) {
					s.do(t, "flushall")
					if holder != nil {
						require.True(t, s.grants(t, claimOf(holder.Name, other, false).Ops().Acquire()))
					}
					v := s.ask(t, waiter.Probe(time.Second))
					left := k.Intents == kind.IntentAlways || holder == kind.Reader
					assert.Equal(t, left, s.do(t, "exists", kind.IntentKey(lockName)) == int64(1), "held by %v", holder)
					assert.Equal(t, left, k.LeftIntent(v), "held by %v", holder)
				}
			},
			"kept out by intents": func(t *testing.T, s *server) {
				s.do(t, "zadd", kind.IntentKey(lockName), in(time.Second), "waiter")
				assert.Equal(t, !k.KeptOut, s.grants(t, of(one).Probe(time.Second)), "probe")
				assert.Equal(t, !k.KeptOut, s.grants(t, of(one).Ops().Acquire()), "acquire")
			},
			"acquire removes the intent": func(t *testing.T, s *server) {
				if k.KeptOut {
					return
				}
				c := of(one)
				c.Intent = "waiter"
				s.do(t, "zadd", kind.IntentKey(lockName), in(time.Second), c.Intent)
				require.True(t, s.grants(t, c.Ops().Acquire()))
				assert.Equal(t, k.AcquireRemovesIntent(), s.do(t, "exists", kind.IntentKey(lockName)) == int64(0))
			},
		} {
			t.Run(fmt.Sprintf("%s: %s", k.Name, rule), func(t *testing.T) {
				t.Parallel()
				virtual().with(t, check)
			})
		}
	}
}

// grants reports whether the server grants an operation.
func (s *server) grants(t *testing.T, op *wire.Op) bool {
	t.Helper()
	v := s.ask(t, op)
	require.True(t, v.Verdict.Answered(), "%v", v.Err)
	return v.Verdict == wire.Granted
}

func TestWhichTargetsCanBeLocked(t *testing.T) {
	t.Parallel()
	many := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprint("name", i))
		}
		return names
	}
	long := strings.Repeat("x", 4096)
	mutex := func(names ...string) kind.Target { return kind.Target{Kind: kind.Mutex, Names: names} }
	semaphore := func(slots int) kind.Target {
		return kind.Target{Kind: kind.Semaphore, Names: []string{"a"}, Slots: slots}
	}
	ownedBy := func(k *kind.Kind, owner string) kind.Target {
		return kind.Target{Kind: k, Names: []string{"a"}, Owner: owner}
	}
	for _, tt := range []struct {
		name   string
		target kind.Target
		err    string // "": it can
	}{
		{"a mutex", mutex("a"), ""},
		{"the longest name", mutex(long), ""},
		{"the most names", mutex(many(256)...), ""},
		{"a reentrant lock", ownedBy(kind.Reentrant, "me"), ""},
		{"one slot", semaphore(1), ""},
		{"the most slots", semaphore(1024), ""},

		{"no names", mutex(), "the list of names is empty"},
		{"too many names", mutex(many(257)...), "257 names: one lock may have at most 256"},
		{"an empty name", mutex(""), "the lock's name is empty"},
		{"a long name", mutex(long + "x"), "redlock: the name has 4097 bytes: it may have at most 4096"},
		{"a long name of two", mutex("a", long+"x"), `redlock: the name "xxx`},
		{"the key of a fence", mutex("redlock:fence:{a}"), "the name is taken"},
		{"the key of intents", mutex("redlock:intents:{a}"), "the name is taken"},
		{"no owner", ownedBy(kind.Reentrant, ""), "the owner is empty"},
		{"no slots", semaphore(0), "a semaphore with 0 slots"},
		{"too many slots", semaphore(1025), "a semaphore with 1025 slots: it must have from 1 to 1024"},
		{"an owner like a kept token", ownedBy(kind.Mutex, "min-hold:me"), "it must not begin with"},
		{"a long owner", ownedBy(kind.Mutex, long), "at most 1024"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.target.Check()
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, tt.err)
		})
	}
}

// The value of another client's key may be a secret.
func TestTheHolderOfAForeignValueIsNotShown(t *testing.T) {
	t.Parallel()
	random := strings.Repeat("0f", 16)
	for value, holder := range map[string]string{
		"foreign":                   "",
		"secret " + random:          "",
		"host:" + random:            "host",
		"min-hold:host:" + random:   "host",
		"ho\x1bst:" + random:        "ho\uFFFDst",
		"host:" + random[1:] + "x":  "",
		random:                      "",
		":" + random:                "",
		strings.Repeat("secret", 9): "",
	} {
		assert.Equal(t, holder, kind.HolderOf(value), value)
	}
}

// CI runs these tests without the race detector. What the goroutines of callers share is tested with it in the root
// package.
func TestThePackageStartsNoGoroutineAndHasNoMutex(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	seen := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		seen++
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, i := range file.Imports {
			assert.NotContains(t, i.Path.Value, "sync", name)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			_, starts := n.(*ast.GoStmt)
			assert.False(t, starts, "%s has a go statement", name)
			return true
		})
	}
	assert.Positive(t, seen)
}
