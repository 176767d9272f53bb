package redlock_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Code that a document shows is code that a test runs: each of its Go, SQL and Lua blocks stands in one of these files,
// indentation aside. What stands here for each block names the file, so that none passes by standing somewhere else.
var shown = map[string][]string{
	"README.md": {"example_test.go", "example_context_test.go", "redlocktest/readme_test.go"},
	"docs/fencing.md": {
		"example_kinds_test.go", "examples/fencing/sql.go", "examples/fencing/sql.go", "examples/fencing/sql.go",
		"examples/fencing/save.lua", "examples/fencing/http.go",
	},
	"docs/migration.md": {"fleet_test.go"},
	"docs/locks.md":     slices.Repeat([]string{"example_kinds_test.go"}, 7),
}

func TestDocumentsShowCodeThatRuns(t *testing.T) {
	t.Parallel()
	documents, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	for _, document := range append(documents, "README.md") {
		blocks := regexp.MustCompile("(?ms)^```(?:go|sql|lua)\n(.*?)^```$").FindAllStringSubmatch(read(t, document), -1)
		files := shown[document]
		if !assert.Len(t, blocks, len(files), "blocks of code in %s", document) {
			continue
		}
		for i, file := range files {
			assert.Contains(t, unindented(read(t, file)), unindented(blocks[i][1]), "block %d of %s is not in %s", i+1, document, file)
		}
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
