package main

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mutant is one change of one place.
type mutant struct {
	id     int    // its number in the instrumented binary, from 1; 0 for a script
	file   string // from the root of the repository
	line   int
	scope  string // the function; "" in a script
	before string
	after  string
	script string // the text of the mutated script; "" in Go
}

// key names a mutant, whatever its line is. It is the same for equal changes in one function; see number.
func (m *mutant) key() string {
	place := m.file
	if m.scope != "" {
		place += " " + m.scope
	}
	return place + ": " + m.change()
}

func (m *mutant) change() string { return fmt.Sprintf("`%s` → `%s`", m.before, m.after) }

func (m *mutant) String() string {
	place := fmt.Sprintf("%s:%d: ", m.file, m.line)
	if m.scope != "" {
		place += m.scope + ": "
	}
	return place + m.change()
}

// number makes the keys of the mutants unique: the second one of a kind in a function gets " (2)".
func number(mutants []*mutant) {
	seen := make(map[string]int)
	for _, m := range mutants {
		key := m.key()
		seen[key]++
		if n := seen[key]; n > 1 {
			m.after = fmt.Sprintf("%s (%d)", m.after, n)
		}
	}
}

// sample returns n of the mutants in their order; all of them if n is 0. A mutant is drawn by a hash of its key, so a
// change of the code changes few of those that are drawn.
func sample(mutants []*mutant, n int) []*mutant {
	if n <= 0 || n >= len(mutants) {
		return mutants
	}
	hashes := make(map[*mutant]string)
	for _, m := range mutants {
		hash := sha256.Sum256([]byte(m.key()))
		hashes[m] = string(hash[:])
	}
	last := slices.Sorted(maps.Values(hashes))[n-1]
	return slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return hashes[m] > last })
}

// edits are changes of one file's text.
type edits struct {
	all []edit
}

type edit struct {
	at, until int // the text that is replaced; empty for an insertion
	text      string
	order     int // of the edits at one place: the ends of nodes from inside to outside, then the starts of others
}

// wrap puts a text before and after [start, end). Outer nodes are wrapped before inner ones.
func (e *edits) wrap(start, end int, before, after string) {
	n := len(e.all) + 1
	e.all = append(e.all, edit{start, start, before, n}, edit{end, end, after, -n})
}

func (e *edits) replace(start, end int, text string) {
	e.all = append(e.all, edit{start, end, text, 0})
}

// apply returns the changed text.
func (e *edits) apply(source []byte) []byte {
	slices.SortStableFunc(e.all, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order))
	})
	var text []byte
	done := 0
	for _, one := range e.all {
		text = append(append(text, source[done:one.at]...), one.text...)
		done = one.until
	}
	return append(text, source[done:]...)
}

// excerpt returns a part of a source on one line, shortened.
func excerpt(source []byte) string {
	text := strings.Join(strings.Fields(string(source)), " ")
	if runes := []rune(text); len(runes) > 120 {
		text = string(runes[:119]) + "…"
	}
	return text
}
