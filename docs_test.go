package redlock_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/redlocktest"
)

// Every link from one document to another, or to a heading, leads somewhere.
func TestDocumentsLinkToWhatIsThere(t *testing.T) {
	t.Parallel()
	links := 0
	for _, document := range documents(t) {
		for _, link := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(read(t, document), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			links++
			file, heading, _ := strings.Cut(link[1], "#")
			target := document
			if file != "" {
				target = filepath.Join(filepath.Dir(document), file)
			}
			if assert.FileExists(t, target, "%s links to %s", document, link[1]) && heading != "" {
				assert.Contains(t, headings(read(t, target)), heading, "%s links to %s", document, link[1])
			}
		}
	}
	assert.NotZero(t, links)
}

// A line of a table follows another one, or begins a table: an empty line inside a table ends it.
func TestTablesOfDocumentsHaveNoGaps(t *testing.T) {
	t.Parallel()
	tables := 0
	for _, document := range documents(t) {
		lines := strings.Split(read(t, document)+"\n", "\n")
		for i, line := range lines[1 : len(lines)-1] {
			if strings.HasPrefix(line, "|") && !strings.HasPrefix(lines[i], "|") {
				tables++
				assert.Regexp(t, `^\|[ :]*-`, lines[i+2], "%s:%d: a line of a table, but not of the one before it", document, i+2)
			}
		}
	}
	assert.Greater(t, tables, 20)
}

// docs/errors.md says what each warning in the log means.
func TestErrorsListsTheWarnings(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	page, warnings := read(t, "docs/errors.md"), 0
	for _, file := range files {
		written := regexp.MustCompile(`(?:slog\.LevelWarn, (?:[^",]+, )?(?:""+, )?|message = )"(redlock: [^;"]*)`)
		for _, warning := range written.FindAllStringSubmatch(read(t, file), -1) {
			warnings++
			assert.Contains(t, page, "| WARN `"+warning[1], "%s", file)
		}
	}
	assert.NotZero(t, warnings)
}

// The design says where each rule is: `file: name`, or `file: name`, `name`. The file declares the name, or a script
// has it. Each rule has a test.
func TestTheDesignNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	text := read(t, "docs/design.md")
	declares := func(file, names string) {
		if _, err := os.Stat(file); err != nil {
			file = filepath.Join("internal/wire", file)
		}
		code := read(t, file)
		for _, name := range regexp.MustCompile(`[\w.]+`).FindAllString(names, -1) {
			declared := `\b%s\b`
			if filepath.Ext(file) == ".go" {
				declared = `(?m)^(func (\(.*?\) )?|type |var |const |\t)%s\b`
			}
			assert.Regexp(t, fmt.Sprintf(declared, name[strings.LastIndex(name, ".")+1:]), code, "%s: %s", file, name)
		}
	}
	places := regexp.MustCompile("`([\\w/]+\\.(?:go|lua)): ([\\w.]+`(?:, `[\\w.]+`)*)").FindAllStringSubmatch(text, -1)
	assert.Greater(t, len(places), 20)
	for _, place := range places {
		declares(place[1], place[2])
	}
	_, rules, found := strings.Cut(text, "| # | rule | where | test |\n|---|---|---|---|\n")
	require.True(t, found)
	rules, _, _ = strings.Cut(rules, "\n\n")
	for rule := range strings.Lines(rules) {
		assert.Regexp(t, "`Test\\w+` \\|\n?$", rule)
	}
}

// The pages of evidence name tests, scenarios, rules of the models, and controls (control "name"). All of them exist.
func TestEvidenceNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	var tests strings.Builder
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, "_test.go") {
			tests.WriteString(read(t, path))
		}
		return err
	}))
	models, err := filepath.Glob("model/*.pml")
	require.NoError(t, err)
	var rules strings.Builder
	for _, model := range models {
		rules.WriteString(read(t, model))
	}
	scenarios := read(t, "docs/guarantees.md")
	controls := read(t, "chaos/internal/broken/broken.go") + read(t, "chaos/internal/broken/scripts.go")
	named := 0
	for _, page := range []string{"docs/design.md", "docs/guarantees.md", "docs/history/track-record.md"} {
		text := strings.ReplaceAll(read(t, page), "\n", " ")
		for _, kind := range []struct{ pattern, form, in string }{
			{"`(Test[A-Z]\\w+)`", "func %s(t *testing.T)", tests.String()},
			{"`(only-[a-z-]+)`", "`%s`", scenarios},
			{"`(NO_[A-Z_]+)`", "%s", rules.String()},
			{`[Cc]ontrols? "([^"]+)"`, "%q", controls},
			{`[Cc]ontrols "[^"]+", "([^"]+)"`, "%q", controls},
		} {
			for _, name := range regexp.MustCompile(kind.pattern).FindAllStringSubmatch(text, -1) {
				named++
				found := strings.Contains(kind.in, fmt.Sprintf(kind.form, name[1]))
				assert.True(t, found, "%s names %s, which is not there", page, name[1])
			}
		}
	}
	assert.Greater(t, named, 100)
}

// The page of the models has a row and a trace for each rule that model/check removes.
func TestTheModelsHaveTheirTraces(t *testing.T) {
	t.Parallel()
	page, removed := read(t, "model/README.md"), 0
	for _, line := range regexp.MustCompile(`(?m)^(?:for rule in|check \w+ NO_|  check \w+ NO_).*$`).
		FindAllString(read(t, "model/check"), -1) {
		for _, rule := range regexp.MustCompile(`(?:^| )NO_([A-Z_]+)`).FindAllStringSubmatch(line, -1) {
			removed++
			traces, err := filepath.Glob("model/traces/*-" + rule[1] + ".txt")
			require.NoError(t, err)
			require.NotEmpty(t, traces, rule[1])
			for _, trace := range traces {
				assert.Contains(t, page, "("+strings.TrimPrefix(trace, "model/")+")")
				assert.NotEmpty(t, read(t, trace))
			}
		}
	}
	assert.Greater(t, removed, 15)
}

// Every exported type has an example that shows it, and checks what it prints.
func TestEveryTypeHasAnExample(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{".", "redlocktest"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		fset := token.NewFileSet()
		parsed := make([]*ast.File, 0, len(files))
		for _, file := range files {
			f, err := parser.ParseFile(fset, file, nil, parser.ParseComments)
			require.NoError(t, err)
			parsed = append(parsed, f)
		}
		pkg, err := doc.NewFromFiles(fset, parsed, "github.com/redlock-go/redlock/"+dir)
		require.NoError(t, err)
		assert.NotEmpty(t, pkg.Types)
		shown := shownTypes(pkg)
		for _, typ := range pkg.Types {
			own := slices.ContainsFunc(typ.Examples, func(e *doc.Example) bool { return e.Suffix == "" && e.Output != "" })
			assert.True(t, own || shown[typ.Name], "no example with an output shows %s", typ.Name)
		}
	}
}

// shownTypes are the names of the package that examples of its types use, if their output is checked.
func shownTypes(pkg *doc.Package) map[string]bool {
	shown := make(map[string]bool)
	for _, typ := range pkg.Types {
		for _, example := range typ.Examples {
			if example.Output == "" {
				continue
			}
			ast.Inspect(example.Code, func(n ast.Node) bool {
				if used, ok := n.(*ast.SelectorExpr); ok {
					if of, ok := used.X.(*ast.Ident); ok && of.Name == pkg.Name {
						shown[used.Sel.Name] = true
					}
				}
				return true
			})
		}
	}
	return shown
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// documents are all Markdown files but those that a run of a harness wrote.
func documents(t *testing.T) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if entry.IsDir() && slices.Contains([]string{".git", "bin", "dist", "chaos-report", "bench-report"}, path) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	}))
	return files
}

// headings are a document's, as GitHub makes links of them.
func headings(text string) (anchors []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		anchor := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors = append(anchors, strings.ReplaceAll(anchor, " ", "-"))
	}
	return anchors
}

// Code that a document shows is code that a test runs: each of its Go, SQL and Lua blocks stands in one of these files,
// indentation aside. What stands here for each block names the file, so that none passes by standing somewhere else.
var shown = map[string][]string{
	"README.md":       {"examples/quickstart/main.go", "example_masters_test.go"},
	"docs/fencing.md": {"example_kinds_test.go", "examples/fencing/sql.go", "examples/fencing/save.lua"},
	"docs/masters.md": {"internal/stacktest/fleet_test.go"},
	"docs/locks.md": slices.Concat(
		[]string{"example_kinds_test.go", "example_lock_test.go"},
		slices.Repeat([]string{"example_kinds_test.go"}, 5),
		[]string{"election/example_test.go", "election/example_test.go", "keyed/example_test.go"},
	),
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
			assert.Contains(
				t, unindented(read(t, file)), unindented(blocks[i][1]), "block %d of %s is not in %s", i+1, document, file,
			)
		}
	}
}

// Commands that documents show name targets and folders that exist. README shows none that needs Docker's own commands.
func TestDocumentsShowCommandsThatExist(t *testing.T) {
	t.Parallel()
	assert.NotRegexp(t, `docker[ -]compose`, read(t, "README.md"))
	targets, shown := read(t, "Makefile"), 0
	for _, document := range documents(t) {
		if strings.Contains(document, "history") {
			continue
		}
		text := read(t, document)
		commands := regexp.MustCompile("(?m)(?:`make ([a-z-]+)|^make ([a-z-]+)(?: +#.*)?$)")
		for _, target := range commands.FindAllStringSubmatch(text, -1) {
			shown++
			assert.Contains(t, targets, "\n"+target[1]+target[2]+":", "%s: %s", document, target[0])
		}
		for _, folder := range regexp.MustCompile(`go (?:run|install) \./([\w/-]+)`).FindAllStringSubmatch(text, -1) {
			shown++
			assert.DirExists(t, folder[1], document)
		}
	}
	assert.Greater(t, shown, 20)
}

// The program of the first block shows "library use in fifteen lines", apart from its imports.
func TestReadmeNeedsFifteenLines(t *testing.T) {
	t.Parallel()
	_, program, found := strings.Cut(readmeProgram(t), "func main() {\n")
	require.True(t, found)
	assert.LessOrEqual(t, strings.Count(program, "\n"), 15)
}

// readmeProgram is README's first block of code.
func readmeProgram(t *testing.T) string {
	t.Helper()
	_, program, found := strings.Cut(read(t, "README.md"), "```go\n")
	require.True(t, found)
	program, _, _ = strings.Cut(program, "```")
	return program
}

func unindented(code string) string {
	return regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAllString(code, "")
}

// The handler in docs/locks.md unlocks when the booking panics, and reports that a name is taken only if it is. It
// reports a loss under the booking, but not that the release is not confirmed yet.
func TestTheHandlerOfTheDocumentsWhenThingsGoWrong(t *testing.T) {
	t.Parallel()
	locker, masters := redlocktest.StartLocker(t, 3, redlock.WithNodeTimeout(2*time.Second))
	s := &shop{locker, func(context.Context, string) error { panic("booking") }}
	ship := func() int {
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
		return answer.Code
	}
	assert.PanicsWithValue(t, "booking", func() { ship() })
	s.book = func(context.Context, string) error { return nil }
	assert.Equal(t, http.StatusOK, ship())
	masters[0].Hold("orders:", time.Minute)
	masters[1].Hold("orders:", time.Minute)
	assert.Equal(t, http.StatusConflict, ship())
	s.book = func(context.Context, string) error {
		for _, m := range masters { // one of them may get the key only now
			m.Wipe()
		}
		return nil
	}
	masters[0].Release("orders:")
	masters[1].Release("orders:")
	assert.Equal(t, http.StatusInternalServerError, ship(), "lost")
	s.book = func(context.Context, string) error {
		masters[0].Stop()
		masters[1].Stop()
		return nil
	}
	assert.Equal(t, http.StatusOK, ship(), "the release is not confirmed")
	assert.Equal(t, http.StatusServiceUnavailable, ship())
}

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

// README's commands make a module that builds README's program. It has few modules in its graph: those that the
// harnesses need are not among them.
func TestAConsumerHasFewModules(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs(".")
	require.NoError(t, err)
	parent := t.TempDir()
	dir := filepath.Join(parent, "orders")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Symlink(here, filepath.Join(parent, "redlock")))
	run := func(command string) {
		words := strings.Fields(command)
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", command, out)
	}
	for _, command := range regexp.MustCompile(`(?m)^go mod (?:init|edit) .*$`).FindAllString(read(t, "README.md"), -1) {
		run(command)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), []byte(read(t, "go.sum")), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(readmeProgram(t)), 0o600))
	run("go build -mod=mod -o " + os.DevNull + " .")
	modules := golist(t, dir, "-mod=mod", "-m", "-f", "{{.Path}}", "all")
	assert.Contains(t, modules, "github.com/redis/go-redis/v9")
	assert.Less(t, len(modules), 25+1, "with the consumer's own: %v", modules)
	for _, heavy := range []string{"testcontainers", "toxiproxy", "moby", "sqlite", "redsync", "rueidis"} {
		assert.NotContains(t, strings.Join(modules, " "), heavy)
	}
}
