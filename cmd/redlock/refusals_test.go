package main_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/redisproc"
)

// A run that waits for masters which may vote but refuse the lock says why they do, and not that the name is free.
func TestAWaitSaysWhyTheMastersRefuse(t *testing.T) {
	t.Parallel()
	full := redisproc.ForTest(t, 2, "--maxmemory", "1")
	well := redisproc.ForTest(t, 3)
	for name, tc := range map[string]struct {
		urls []string
		says string
	}{
		"a majority": {
			append(redisproc.URLs(well[:1]), redisproc.URLs(full)...), "2 of 3 masters refuse the lock: 127.0.0.1:",
		},
		"one of one": {redisproc.URLs(full[:1]), "1 of 1 masters refuse the lock: " + full[0].Addr() + ": OOM command"},
		"a minority": {append(redisproc.URLs(well[:2]), full[0].URL()), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := redlock(t, nil, "run", "--without-restart-guard", "--masters", strings.Join(tc.urls, ","), "--wait", "2s",
				"x", "--", "true")
			if tc.says == "" {
				assert.Empty(t, got.stderr)
				return
			}
			assert.Contains(t, got.stderr, tc.says)
			assert.NotContains(t, got.stderr, "free")
			assert.Equal(t, 69, got.code)
		})
	}
}
