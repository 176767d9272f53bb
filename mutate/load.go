package main

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// instrument returns the mutants of a package and its files with all of them in, each behind a switch.
func instrument(root, dir string) (*packages.Package, []*mutant, map[string][]byte, error) {
	found, err := packages.Load(&packages.Config{Dir: root, Mode: packages.LoadSyntax}, "./"+dir)
	if err != nil {
		return nil, nil, nil, err
	}
	p := found[0]
	if len(p.Errors) > 0 {
		return nil, nil, nil, p.Errors[0]
	}
	var mutants []*mutant
	changed := make(map[string][]byte)
	for i, path := range p.CompiledGoFiles {
		source, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, nil, err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return nil, nil, nil, err
		}
		w := &walker{
			fset: p.Fset, info: p.TypesInfo, source: source, file: filepath.ToSlash(name), next: len(mutants) + 1,
		}
		w.walk(p.Syntax[i])
		mutants = append(mutants, w.mutants...)
		changed[path] = w.edits.apply(source)
	}
	text := strings.Replace(switches, "package mutated", "package "+p.Name, 1)
	changed[filepath.Join(p.Dir, "mutant_switch.go")] = []byte(text)
	number(mutants)
	return p, mutants, changed, nil
}
