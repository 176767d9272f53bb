package redlock_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// golist returns the lines that go list prints in a directory, outside the workspace: as it is for users of the module.
func golist(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "go list %v: %s", args, &stderr)
	return strings.Fields(string(out))
}

// The library builds from the standard library, go-redis, x/sync and go-multierror, and from what these need.
func TestTheLibraryImportsLittle(t *testing.T) {
	t.Parallel()
	modules := golist(t, ".", "-deps", "-f", "{{if .Module}}{{.Module.Path}}{{end}}", ".", "./node", "./quorum", "./clock")
	slices.Sort(modules)
	assert.Equal(t, []string{
		"github.com/cespare/xxhash/v2", // go-redis needs it, and atomic and x/sys
		"github.com/hashicorp/errwrap", // go-multierror needs it
		"github.com/hashicorp/go-multierror",
		"github.com/redis/go-redis/v9",
		"github.com/redlock-go/redlock",
		"go.uber.org/atomic",
		"golang.org/x/sync",
		"golang.org/x/sys",
	}, slices.Compact(modules))
}

// A program that imports the library has few modules in its graph: those that the harnesses need are not among them.
func TestAConsumerHasFewModules(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs(".")
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("go.mod", "module example.com/consumer\n\ngo 1.26.0\n\nrequire github.com/redlock-go/redlock v0.0.0\n\nreplace github.com/redlock-go/redlock => "+here+"\n")
	write("go.sum", read(t, "go.sum"))
	write("main.go", "package main\n\nimport _ \"github.com/redlock-go/redlock\"\n\nfunc main() {}\n")
	modules := golist(t, dir, "-mod=mod", "-m", "-f", "{{.Path}}", "all")
	assert.Contains(t, modules, "github.com/redis/go-redis/v9")
	assert.Less(t, len(modules), 25+1, "with the consumer's own: %v", modules)
	for _, heavy := range []string{"testcontainers", "toxiproxy", "moby", "sqlite", "redsync", "rueidis"} {
		assert.NotContains(t, strings.Join(modules, " "), heavy)
	}
}
