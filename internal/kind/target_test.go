package kind_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/kind"
)

func TestWhichTargetsCanBeLocked(t *testing.T) {
	t.Parallel()
	many := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprint("name", i))
		}
		return names
	}
	long := strings.Repeat("x", 4096)
	for _, tt := range []struct {
		name   string
		target kind.Target
		err    string // "": it can
	}{
		{"a mutex", kind.Target{Kind: kind.Mutex, Names: []string{"a"}}, ""},
		{"the longest name", kind.Target{Kind: kind.Mutex, Names: []string{long}}, ""},
		{"the most names", kind.Target{Kind: kind.Mutex, Names: many(256)}, ""},
		{"a reentrant lock", kind.Target{Kind: kind.Reentrant, Names: []string{"a"}, Owner: "me"}, ""},
		{"one slot", kind.Target{Kind: kind.Semaphore, Names: []string{"a"}, Slots: 1}, ""},
		{"the most slots", kind.Target{Kind: kind.Semaphore, Names: []string{"a"}, Slots: 1024}, ""},

		{"no names", kind.Target{Kind: kind.Mutex}, "the list of names is empty"},
		{"too many names", kind.Target{Kind: kind.Mutex, Names: many(257)}, "257 names: one lock may have at most 256"},
		{"an empty name", kind.Target{Kind: kind.Mutex, Names: []string{""}}, "the lock's name is empty"},
		{
			"a long name",
			kind.Target{Kind: kind.Mutex, Names: []string{long + "x"}},
			"redlock: the name has 4097 bytes: it may have at most 4096",
		},
		{
			"a long name of two",
			kind.Target{Kind: kind.Mutex, Names: []string{"a", long + "x"}},
			`redlock: the name "xxx`,
		},
		{
			"the key of a fence", kind.Target{Kind: kind.Mutex, Names: []string{"redlock:fence:{a}"}}, "the name is taken",
		},
		{
			"the key of intents", kind.Target{Kind: kind.Mutex, Names: []string{"redlock:intents:{a}"}}, "the name is taken",
		},
		{"no owner", kind.Target{Kind: kind.Reentrant, Names: []string{"a"}}, "the owner is empty"},
		{"no slots", kind.Target{Kind: kind.Semaphore, Names: []string{"a"}}, "a semaphore with 0 slots"},
		{
			"too many slots",
			kind.Target{Kind: kind.Semaphore, Names: []string{"a"}, Slots: 1025},
			"a semaphore with 1025 slots: it must have from 1 to 1024",
		},
		{
			"an owner like a kept token",
			kind.Target{Kind: kind.Mutex, Names: []string{"a"}, Owner: "min-hold:me"},
			"it must not begin with",
		},
		{
			"a long owner", kind.Target{Kind: kind.Mutex, Names: []string{"a"}, Owner: long}, "at most 1024",
		},
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
