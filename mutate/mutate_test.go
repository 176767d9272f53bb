package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const sum = "mutate/testdata/sum"

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	require.NoError(t, err)
	return dir
}

// The tests of the package in testdata have gaps.
func TestMutantsAreTried(t *testing.T) {
	t.Parallel()
	p, mutants, changed, err := instrument(root(t), sum)
	require.NoError(t, err)
	scripts, err := luaMutants(root(t), sum)
	require.NoError(t, err)
	var said []string
	b := &bench{folder: t.TempDir(), log: func(format string, args ...any) {
		said = append(said, strings.TrimSpace(fmt.Sprintf(format, args...)))
	}}
	require.NoError(t, b.build([]string{p.Dir}, changed))
	require.NoError(t, b.trace(time.Minute))
	require.Len(t, said, 2)
	assert.Contains(t, said[0], "left out, because it fails without a mutant: TestFails")
	assert.Equal(t, "left out, because it is skipped: TestIsSkipped", said[1])

	// By line: instrument finds the statements of a block before what is in them.
	slices.SortStableFunc(mutants, func(a, b *mutant) int { return cmp.Compare(a.line, b.line) })
	verdicts := make(map[verdict][]string)
	for _, m := range append(mutants, scripts...) {
		v, err := b.try(m)
		require.NoError(t, err)
		verdicts[v] = append(verdicts[v], strings.TrimPrefix(m.String(), sum+"/"))
	}
	assert.Equal(t, []string{
		"sum.go:24: Sum: `number < 0` → `number <= 0`", // no test has a 0
		"sum.go:37: Both: `a && b` → `b`",              // nor is the first one false
		"sum.go:40: Untested: `a == 1` → `a != 1`",
		"sum.go:40: Untested: `1` → `1 + 1`",
	}, verdicts[unreached])
	assert.Equal(t, []string{
		"sum.go:24: Sum: `0` → `0 + 1`",
		"sum.go:25: Sum: `0` → `0 + 1 (2)`",
		"sum.go:25: Sum: `0` → `0 + 1 (3)`",
		"lua/one.lua:2: `if a == b and 'c == d' then` → `if a == b or 'c == d' then`",
		"lua/one.lua:3: `redis.call('DEL', KEYS[1])` → `redis.call('DEL', KEYS[1+1])`",
		"lua/one.lua:3: `redis.call('DEL', KEYS[1])` → ``",
	}, verdicts[survived])
	assert.Equal(t, []string{
		"sum.go:24: Sum: `number < 0` → `number >= 0`",
		"sum.go:25: Sum: `return ErrNegative` → `return nil`",
		"sum.go:27: Sum: `number >= bound` → `number > bound`",
		"sum.go:27: Sum: `number >= bound` → `number < bound`",
		"sum.go:28: Sum: `continue` → ``",
		"sum.go:30: Sum: `sum = sum + number` → ``",
		"sum.go:30: Sum: `sum + number` → `sum - number`",
		"sum.go:31: Sum: `n++` → ``",
		"sum.go:37: Both: `a` → `!a`",
		"sum.go:37: Both: `a && b` → `a`",
		"sum.go:37: Both: `b` → `!b`",
		"lua/one.lua:2: `if a == b and 'c == d' then` → `if a ~= b and 'c == d' then`",
	}, verdicts[killed])
}

func TestMutantsOfScripts(t *testing.T) {
	t.Parallel()
	all := luaFile("x.lua", strings.Join([]string{
		"local a = -1 -- 2 < 3",
		"if not held(a) then",
		"\treturn nil",
		"elseif a - 1 <= #'<' then",
		"\ta = math.max(a, b)",
		"end",
	}, "\n"))
	number(all)
	var texts []string
	for _, m := range all {
		texts = append(texts, m.String())
	}
	assert.Equal(t, []string{
		"x.lua:1: `local a = -1 -- 2 < 3` → `local a = -1+1 -- 2 < 3`",
		"x.lua:2: `if not held(a) then` → `if held(a) then`",
		"x.lua:4: `elseif a - 1 <= #'<' then` → `elseif a + 1 <= #'<' then`",
		"x.lua:4: `elseif a - 1 <= #'<' then` → `elseif a - 1+1 <= #'<' then`",
		"x.lua:4: `elseif a - 1 <= #'<' then` → `elseif a - 1 < #'<' then`",
		"x.lua:4: `elseif a - 1 <= #'<' then` → `elseif a - 1 > #'<' then`",
		"x.lua:5: `a = math.max(a, b)` → `a = math.min(a, b)`",
		"x.lua:2: `if not held(a) then` → `if not (not held(a)) then`",
		"x.lua:3: `return nil` → ``",
		"x.lua:5: `a = math.max(a, b)` → ``",
	}, texts)
	assert.Contains(t, all[4].script, "a - 1 < #'<'")
}

func TestKeysAreUnique(t *testing.T) {
	t.Parallel()
	for _, dir := range append([]string{"."}, standard...) {
		_, mutants, _, err := instrument(root(t), dir)
		require.NoError(t, err)
		scripts, err := luaMutants(root(t), dir)
		require.NoError(t, err)
		seen := make(map[string]bool)
		for _, m := range append(mutants, scripts...) {
			assert.False(t, seen[m.key()], m.key())
			seen[m.key()] = true
		}
	}
}

// Mutants that are listed and are not there any more are named.
func TestOldMutantsAreNamed(t *testing.T) {
	t.Parallel()
	mutants := []*mutant{{file: "a/a.go", scope: "f", before: "x", after: "y"}}
	reasons := map[string]string{mutants[0].key(): "r", "a/a.go g: `x` → `y`": "r", "b/b.go: `x` → `y`": "r"}
	assert.Equal(t, []string{"a/a.go g: `x` → `y`"}, old("a", mutants, reasons))
}

func TestTheListOfKnownMutants(t *testing.T) {
	t.Parallel()
	reasons, err := parseKnown("# a comment\n\na.go f: `x` → `y`\n\tequivalent: z\nb.go: `x` → `y`\n\tonly speed\n")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a.go f: `x` → `y`": "equivalent: z", "b.go: `x` → `y`": "only speed"}, reasons)
	assert.True(t, equivalent(reasons["a.go f: `x` → `y`"]))
	assert.False(t, equivalent(reasons["b.go: `x` → `y`"]))
	for text, want := range map[string]string{
		"a\nb\n\tc\n":         "no reason for a",
		"a\n":                 "no reason for a",
		"\tc\n":               "a reason without a mutant: c",
		"a\n\tb\na\n\tc\n":    "listed twice: a",
		"a\n\tb\n\tc\nd\n\te": "a reason without a mutant: c",
	} {
		_, err := parseKnown(text)
		assert.EqualError(t, err, want)
	}
}

func TestScores(t *testing.T) {
	t.Parallel()
	var s score
	m := &mutant{file: "a.go"}
	for range 8 {
		s.count(m, killed, "", false)
	}
	s.count(m, timedOut, "", false)
	s.count(m, survived, "equivalent: so it is", false)
	s.count(m, survived, "only speed", false)
	s.mutants, s.took = 11, 3*time.Second
	assert.Equal(t, "| a | 11 | 9 | 1 | 1 | 1 | 90.0 % | 3 |", s.row("a"))
	assert.True(t, s.sound())
	s.mutants++
	assert.False(t, s.sound())
	assert.True(t, score{}.sound())
}

// known.txt must list every survivor, and must not list a mutant that a test kills as equivalent.
func TestTheListMustAgreeWithTheVerdicts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		verdict verdict
		reason  string
		sound   bool
	}{
		{killed, "", true},
		{killed, "equivalent: so it is", false},
		{killed, "only speed", true}, // a test of time may notice it
		{timedOut, "equivalent: so it is", true},
		{survived, "equivalent: so it is", true},
		{survived, "only speed", true},
		{survived, "", false},
		{unreached, "", false},
	} {
		s := score{mutants: 20, killed: 19}
		s.count(&mutant{file: "a.go"}, tt.verdict, tt.reason, false)
		assert.Equal(t, tt.sound, s.sound(), "%v, %q", tt.verdict, tt.reason)
	}
}

func TestASampleChangesLittleWithTheCode(t *testing.T) {
	t.Parallel()
	var all []*mutant
	for i := range 100 {
		all = append(all, &mutant{id: i, scope: fmt.Sprint("f", i)})
	}
	assert.Len(t, sample(all, 0), 100)
	assert.Len(t, sample(all, 200), 100)
	drawn := sample(all, 10)
	require.Len(t, drawn, 10)
	assert.Equal(t, drawn, sample(all, 10))
	for i := range drawn[1:] {
		assert.Less(t, drawn[i].id, drawn[i+1].id)
	}
	var kept int
	for _, m := range sample(all[1:], 10) {
		if slices.Contains(drawn, m) {
			kept++
		}
	}
	assert.GreaterOrEqual(t, kept, 9, "the others do not depend on one that is gone")
}
