package kind_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	// One of the two sibling keys is in the name's slot by chance, the other is not.
	assert.Equal(t, kind.HashSlot("}7557"), kind.HashSlot(kind.FenceKey("}7557")))
	assert.Equal(t, kind.HashSlot("}4532"), kind.HashSlot(kind.IntentKey("}4532")))
	for _, name := range []string{"a}b", "}7557", "}4532"} {
		assert.ErrorContains(t, kind.CheckHashSlots("cluster:7000", []string{name}), "leave out the braces")
	}
	long := strings.Repeat("x", 4095)
	for _, names := range [][]string{{"a" + long, "b" + long}, {"{}" + long + "{a}"}} {
		err := kind.CheckHashSlots("cluster:7000", names)
		require.Error(t, err)
		assert.Less(t, len(err.Error()), 600, "a part of long names")
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
