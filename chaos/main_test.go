package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWrongUsageSaysWhatIsWrongAndRunsNothing(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "history.jsonl"), nil, 0o600))
	tests := map[string]struct {
		args []string
		says string
	}{
		"too short":        {[]string{"-duration", "1s"}, "duration 1s: a storm takes at least 20s"},
		"too few clients":  {[]string{"-clients", "1"}, "clients 1: it takes at least 2"},
		"unknown backend":  {[]string{"-backend", "clouds"}, `no backend is called "clouds"`},
		"unknown flag":     {[]string{"-speed", "9"}, "-speed"},
		"an argument":      {[]string{"fast"}, `unexpected argument "fast"`},
		"a folder in use":  {[]string{"-out", full}, "is not empty"},
		"no duration":      {[]string{"-duration", "soon"}, "soon"},
		"a seed too small": {[]string{"-seed", "-1"}, "-1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			assert.Equal(t, noRun, run(tt.args, &out, &errs))
			assert.Contains(t, errs.String(), tt.says)
			assert.Empty(t, out.String())
		})
	}
}

func TestHelpListsTheFlags(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	assert.Equal(t, good, run([]string{"-h"}, &out, &errs))
	for _, flag := range []string{"-backend", "-clients", "-duration", "-out", "-seed"} {
		assert.Contains(t, errs.String(), flag)
	}
}

func TestADiscardedFolderLeavesOtherReports(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	mine, other := filepath.Join(parent, "mine"), filepath.Join(parent, "other")
	require.NoError(t, os.MkdirAll(filepath.Join(mine, "logs"), 0o750))
	require.NoError(t, os.MkdirAll(other, 0o750))
	require.NoError(t, discard(mine))
	assert.NoDirExists(t, mine)
	assert.DirExists(t, other)
}
