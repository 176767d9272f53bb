package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAFrameFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text          string
		columns, rows int
		want          string
	}{
		"as it is":       {"a\nb\n", 5, 5, "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J"},
		"nothing":        {"", 5, 5, "\x1b[H\x1b[K\n\x1b[J"},
		"a long line":    {"äbcdef\nabcde", 5, 5, "\x1b[Häbcde\x1b[K\nf\x1b[K\nabcde\x1b[K\n\x1b[J"},
		"too many lines": {"a\nb\nc\nd\n", 5, 4, "\x1b[Ha\x1b[K\nb\x1b[K\n…\x1b[K\n\x1b[J"},
		"one row":        {"a\nb\n", 1, 1, "\x1b[H…\x1b[K\n\x1b[J"},
	} {
		assert.Equal(t, tt.want, frame(tt.text, tt.columns, tt.rows), name)
	}
}
