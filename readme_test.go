package redlock_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Code that README shows is code that a test runs: each of its Go blocks stands in a test file, indentation aside.
func TestReadmeShowsCodeThatRuns(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(string(readme), -1)

	// What README says of each block names the file, so that none passes by standing somewhere else.
	files := []string{"example_test.go", filepath.Join("redlocktest", "readme_test.go")}
	require.Len(t, blocks, len(files), "Go blocks in README.md")
	for i, file := range files {
		code, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, unindented(string(code)), unindented(blocks[i][1]), "block %d of README.md is not in %s", i+1, file)
	}
}

// The first block is "library use in fifteen lines".
func TestReadmeNeedsFifteenLines(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(readme), "```go\n")
	require.True(t, found)
	first, _, _ := strings.Cut(after, "```")
	assert.LessOrEqual(t, strings.Count(first, "\n"), 15)
}

func unindented(code string) string {
	return regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAllString(code, "")
}
