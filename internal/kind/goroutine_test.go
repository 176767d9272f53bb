package kind_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// CI runs these tests without the race detector. What the goroutines of callers share is tested with it in the root
// package.
func TestThePackageStartsNoGoroutineAndHasNoMutex(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	seen := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		seen++
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, i := range file.Imports {
			assert.NotContains(t, i.Path.Value, "sync", name)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			_, starts := n.(*ast.GoStmt)
			assert.False(t, starts, "%s has a go statement", name)
			return true
		})
	}
	assert.Positive(t, seen)
}
