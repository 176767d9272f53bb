package redlock_test

import (
	"fmt"
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
	deeper, err := filepath.Glob("docs/*/*.md")
	require.NoError(t, err)
	documents = append(documents, deeper...)
	documents = append(documents, "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "chaos/README.md")
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

// docs/internals.md says where each rule is: `file: name`, or `file: name`, `name`. The file declares the name, or a script has it.
// So it is with what is bounded: `name`, `name` (`file`).
func TestInternalsNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	text := read(t, "docs/internals.md")
	declares := func(file, names string) {
		if _, err := os.Stat(file); err != nil {
			file = filepath.Join("node", file)
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
	bounds := regexp.MustCompile("(?m)^\\| (`.*`) \\(`([\\w/]+\\.go)`\\)").FindAllStringSubmatch(text, -1)
	assert.Greater(t, len(bounds), 8)
	for _, bound := range bounds {
		declares(bound[2], bound[1])
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
