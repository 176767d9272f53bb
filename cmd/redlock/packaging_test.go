package main_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/redisproc"
)

// What packages install is what the command prints.
func TestThePackagedFilesAreUpToDate(t *testing.T) {
	t.Parallel()
	for file, args := range map[string][]string{
		"redlock.1":    {"man"},
		"redlock.bash": {"completion", "bash"},
		"redlock.zsh":  {"completion", "zsh"},
		"redlock.fish": {"completion", "fish"},
	} {
		want := redlock(t, nil, args...)
		require.Equal(t, 0, want.code)
		got, err := os.ReadFile(filepath.Join("..", "..", "packaging", file))
		require.NoError(t, err)
		assert.Equal(t, want.stdout, strings.ReplaceAll(string(got), "\r\n", "\n"), "%s: run make package-files", file)
	}
}

func TestTheManualIsAManPage(t *testing.T) {
	t.Parallel()
	groff, err := exec.LookPath("groff")
	if err != nil {
		redisproc.SkipIf(t, errors.New("groff is not installed: apt-get install groff-base"))
	}
	out, err := exec.Command(groff, "-man", "-Tutf8", "-ww", filepath.Join("..", "..", "packaging", "redlock.1")).
		CombinedOutput()
	require.NoError(t, err)
	assert.NotContains(t, string(out), "redlock.1:", "no warning of groff about a line of the file")
	assert.Contains(t, string(out), "REDLOCK_MASTERS_FILE")
}
