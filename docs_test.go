package redlock_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every link from one document to another, or to a heading, leads somewhere.
func TestDocumentsLinkToWhatIsThere(t *testing.T) {
	t.Parallel()
	documents, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	documents = append(documents, "README.md", "CONTRIBUTING.md", "CHANGELOG.md")
	links := 0
	for _, document := range documents {
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

// docs/internals.md says where each rule is: `file: name`, or `file: name`, `name`. The file has the name.
func TestInternalsNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	places := regexp.MustCompile("`([\\w/]+\\.(?:go|lua)): ([\\w.]+)`((?:, `[\\w.]+`)*)").FindAllStringSubmatch(read(t, "docs/internals.md"), -1)
	assert.Greater(t, len(places), 20)
	for _, place := range places {
		file := place[1]
		if _, err := os.Stat(file); err != nil {
			file = filepath.Join("node", file)
		}
		code := read(t, file)
		for _, name := range append(strings.Split(strings.NewReplacer("`", "", ", ", " ").Replace(place[3]), " "), place[2]) {
			last := name[strings.LastIndex(name, ".")+1:]
			assert.Regexp(t, `\b`+last+`\b`, code, "%s: %s", file, name)
		}
	}
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
		for _, typ := range pkg.Types {
			checked := slices.ContainsFunc(typ.Examples, func(e *doc.Example) bool { return e.Suffix == "" && e.Output != "" })
			assert.True(t, checked, "%s has no Example%s with an output", typ.Name, typ.Name)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// headings are a document's, as GitHub makes links of them.
func headings(text string) (anchors []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		anchor := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors = append(anchors, strings.ReplaceAll(anchor, " ", "-"))
	}
	return anchors
}
