package check_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
)

func TestKindsOfLocksShareWhatTheyMay(t *testing.T) {
	t.Parallel()
	tests := map[string]*builder{
		"readers":                   new(builder).held(0, 10, 100, "a", 1, reader).held(0, 20, 90, "b", 1, reader),
		"a writer after readers":    new(builder).held(0, 10, 100, "a", 1, reader).held(0, 101, 190, "b", 1, writer),
		"holds of one owner":        new(builder).held(0, 10, 100, "a", 1, owner("o")).held(20, 30, 120, "b", 1, owner("o")),
		"one owner after the other": new(builder).held(0, 10, 100, "a", 1, owner("o")).held(20, 101, 120, "b", 1, owner("p")),
		"several, and another name": new(builder).held(0, 10, 100, "a", 1, several("x", "y")).held(0, 10, 100, "b", 1),
		"several, then one of them": new(builder).held(0, 10, 100, "a", 1, several("orders", "y")).held(0, 101, 190, "b", 1),
		"two names at once by two": new(builder).
			held(0, 10, 100, "a", 1, several("x", "y")).held(0, 10, 100, "b", 1, several("v", "w")),
	}
	for name, s := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Exclusion(s.events)
			assert.True(t, v.Held(), "%v", v.Findings)
		})
	}
}

func TestKindsOfLocksShareNoMore(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		builder *builder
		says    string
	}{
		"a reader while a writer holds": {
			new(builder).held(0, 10, 100, "a", 1, writer).held(0, 20, 90, "b", 1, reader), "for 70ms",
		},
		"a writer while the longest of many readers holds": {
			new(builder).held(0, 5, 200, "a", 1, reader).held(0, 10, 20, "b", 1, reader).held(0, 30, 90, "c", 1, writer),
			"reader a.0",
		},
		"a mutex while a reader holds": {new(builder).held(0, 10, 100, "a", 1, reader).held(0, 20, 90, "b", 1), "for 70ms"},
		"two writers": {
			new(builder).held(0, 10, 100, "a", 1, writer).held(0, 20, 90, "b", 1, writer), "for 70ms",
		},
		"two owners": {
			new(builder).held(0, 10, 100, "a", 1, owner("o")).held(0, 20, 90, "b", 1, owner("p")), "for 70ms",
		},
		"two without an owner": {
			new(builder).held(0, 10, 100, "a", 1, owner("")).held(0, 20, 90, "b", 1, owner("")), "for 70ms",
		},
		"an owner while a mutex is held": {
			new(builder).held(0, 10, 100, "a", 1, owner("o")).held(0, 20, 90, "b", 1), "for 70ms",
		},
		"one of several": {
			new(builder).held(0, 10, 100, "a", 1, several("x", "orders")).held(0, 20, 90, "b", 1), `"orders" was held by two`,
		},
		"several that have one shared": {
			new(builder).held(0, 10, 100, "a", 1, several("x", "y")).held(0, 20, 90, "b", 1, several("y", "z")),
			`"y" was held by two`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Exclusion(tt.builder.events)
			require.Len(t, v.Findings, 1)
			assert.Contains(t, v.Findings[0].Text, tt.says)
		})
	}
}

func TestReadersBesideAWriterAreFoundOneByOne(t *testing.T) {
	t.Parallel()
	s := new(builder).held(0, 10, 100, "a", 1).held(0, 20, 200, "b", 1, reader).held(0, 50, 90, "c", 1, reader)
	v := check.Exclusion(s.events)
	require.Len(t, v.Findings, 2)
	assert.Contains(t, v.Findings[1].Text, "reader c.0")
}
