package kind_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/redlock-go/redlock/internal/kind"
)

// The first slot is the check value of CRC-16/XMODEM, the others are from CLUSTER KEYSLOT.
func TestSlotAgreesWithClusters(t *testing.T) {
	t.Parallel()
	for key, slot := range map[string]uint16{
		"123456789": 12739, "foo": 12182, "bar": 5061, "hello": 866, "somekey": 11058, "": 0,
		"{foo}": 12182, "a{foo}b": 12182, "{foo}{bar}": 12182, "foo{": 7673, "}foo{bar}": 5061,
		"{user1000}.following": 3443, "{user1000}.followers": 3443, "user1000": 3443,
		"foo{}{bar}": 8363, "foo{{bar}}zap": 4015, "{bar": 4015, "foo{bar}{zap}": 5061, "\x00\xff": 7920,
	} {
		assert.Equal(t, slot, kind.HashSlot(key), "%q", key)
	}
}

func TestSiblingKeys(t *testing.T) {
	t.Parallel()
	for name, sibling := range map[string]string{
		"orders:42":   "redlock:fence:{orders:42}",
		"a{b}c":       "redlock:fence::a{b}c",
		"{b}":         "redlock:fence::{b}",
		"a{}b":        "redlock:fence:{a{}b}",
		"{a":          "redlock:fence:{{a}",
		"a}":          "redlock:fence:{a}}",
		"}{a}":        "redlock:fence::}{a}",
		"\xff\r\n":    "redlock:fence:{\xff\r\n}",
		"::a{b}":      "redlock:fence::::a{b}",
		"fence::a{b}": "redlock:fence::fence::a{b}",
	} {
		assert.Equal(t, sibling, kind.FenceKey(name), "%q", name)
		assert.Equal(t, strings.Replace(sibling, "fence", "intents", 1), kind.IntentKey(name), "%q", name)
	}
}

// names returns names that are easily confused.
func names() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{"{", "}", ":", "{}", "a", "b", "redlock:", "fence", "intents", "\x00", "\xff"})
	return rapid.OneOf(
		rapid.Map(rapid.SliceOfN(piece, 1, 8), func(pieces []string) string { return strings.Join(pieces, "") }),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 20), func(b []byte) string { return string(b) }),
	)
}

// No two names share a key, and no fence key is an intents key.
func TestEveryNameHasItsOwnKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := make(map[string]string)
		one := names().Draw(t, "name")
		some := append(
			rapid.SliceOfN(names(), 1, 20).Draw(t, "names"), one, "{"+one+"}", ":"+one, ":{"+one+"}", "{"+one, one+"}",
		)
		slices.Sort(some)
		for _, name := range slices.Compact(some) {
			for _, key := range []string{kind.FenceKey(name), kind.IntentKey(name)} {
				if other, taken := keys[key]; taken {
					t.Fatalf("%q is a sibling key of %q and of %q", key, other, name)
				}
				keys[key] = name
			}
		}
	})
}

// The sibling keys of a name are in its slot, except for some names with braces, which a Locker refuses on a Cluster.
func TestKeysShareTheSlotOfTheirName(t *testing.T) {
	t.Parallel()
	odd, even := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		name := names().Draw(t, "name")
		slot := kind.HashSlot(name)
		together := kind.HashSlot(kind.FenceKey(name)) == slot && kind.HashSlot(kind.IntentKey(name)) == slot
		if !strings.Contains(name, "}") || tagged.MatchString(name) {
			even++
			if !together {
				t.Fatalf("%q is in slot %d, and its sibling key is not", name, slot)
			}
		} else {
			odd++
		}
		if err := kind.CheckHashSlots("cluster:7000", []string{name}); (err == nil) != together {
			t.Fatalf("%q: %v", name, err)
		}
	})
	assert.Positive(t, odd)
	assert.Positive(t, even)
}

// tagged returns a name with text between its first opening and the next closing brace.
var tagged = regexp.MustCompile(`(?s)^[^{]*\{[^}]+\}`)

func TestCheckSlotsNamesTheKeysInDifferentSlots(t *testing.T) {
	t.Parallel()
	assert.NoError(t, kind.CheckHashSlots("cluster:7000", []string{"a"}))
	assert.NoError(t, kind.CheckHashSlots("cluster:7000", []string{"a{t}", "{t}b", "t"}))
	err := kind.CheckHashSlots("cluster:7000", []string{"{t}b", "t", "foo"})
	assert.ErrorContains(t, err, `"foo" in slot 12182`)
	assert.ErrorContains(t, err, fmt.Sprintf(`keeps "{t}b" in slot %d`, kind.HashSlot("t")))
	assert.ErrorContains(t, err, `"{tag}{t}b" and "{tag}foo"`, "the way out")
	assert.ErrorContains(t, err, "cluster:7000")
	err = kind.CheckHashSlots("cluster:7000", []string{"foo", "bar"})
	assert.ErrorContains(t, err, `keeps "foo" in slot 12182 but "bar" in slot 5061`)
	assert.ErrorContains(t, kind.CheckHashSlots("cluster:7000", []string{"a}b"}), "leave out the braces")
	// The fence is in the name's slot by chance, the intents are not.
	assert.Equal(t, kind.HashSlot("}7557"), kind.HashSlot(kind.FenceKey("}7557")))
	assert.ErrorContains(t, kind.CheckHashSlots("cluster:7000", []string{"}7557"}), "leave out the braces")
	long := strings.Repeat("x", 4095)
	for _, names := range [][]string{{"a" + long, "b" + long}, {"{}" + long + "{a}"}} {
		err := kind.CheckHashSlots("cluster:7000", names)
		require.Error(t, err)
		assert.Less(t, len(err.Error()), 600, "a part of long names")
	}
}

// The intents are in the name's slot by chance, the fence is not.
func TestCheckSlotsLooksAtTheFence(t *testing.T) {
	t.Parallel()
	for i := 0; ; i++ {
		name := fmt.Sprint("}", i)
		slot := kind.HashSlot(name)
		if kind.HashSlot(kind.IntentKey(name)) == slot && kind.HashSlot(kind.FenceKey(name)) != slot {
			assert.ErrorContains(t, kind.CheckHashSlots("cluster:7000", []string{name}), "leave out the braces")
			return
		}
	}
}

// A mutex on one name without fencing has one key, which is in any slot.
func TestATargetWithOneKeyNeedsNoCommonSlot(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind    *kind.Kind
		names   []string
		fencing bool
		ok      bool
	}{
		{kind.Mutex, []string{"a}b"}, false, true},
		{kind.Semaphore, []string{"a}b"}, false, true},
		{kind.Mutex, []string{"a}b"}, true, false},
		{kind.Writer, []string{"a}b"}, false, false},
		{kind.Mutex, []string{"a", "b"}, false, false},
		{kind.Writer, []string{"a"}, true, true},
	} {
		err := kind.Target{Kind: tt.kind, Names: tt.names}.CheckHashSlots("cluster:7000", tt.fencing)
		assert.Equal(t, tt.ok, err == nil, "%s %v: %v", tt.kind.Name, tt.names, err)
	}
}
