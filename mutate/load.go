package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pkg is a parsed package.
type pkg struct {
	dir   string // absolute
	path  string // the import path
	name  string
	files []string // absolute
}

// load finds a package, and the export data of everything that it imports.
func load(root, dir string) (*pkg, map[string]string, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=Dir,ImportPath,Name,GoFiles,Export,DepOnly", "./"+dir)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list: %w", err)
	}
	var found *pkg
	exports := make(map[string]string)
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var one struct {
			Dir, ImportPath, Name, Export string
			GoFiles                       []string
			DepOnly                       bool
		}
		if err := decoder.Decode(&one); err == io.EOF {
			return found, exports, nil
		} else if err != nil {
			return nil, nil, err
		}
		exports[one.ImportPath] = one.Export
		if one.DepOnly {
			continue
		}
		found = &pkg{dir: one.Dir, path: one.ImportPath, name: one.Name}
		for _, file := range one.GoFiles {
			found.files = append(found.files, filepath.Join(one.Dir, file))
		}
	}
}

// instrument returns the mutants of a package and its files with all of them in, each behind a switch.
func instrument(root, dir string) (*pkg, []*mutant, map[string][]byte, error) {
	p, exports, err := load(root, dir)
	if err != nil {
		return nil, nil, nil, err
	}
	fset := token.NewFileSet()
	parsed, sources := make([]*ast.File, len(p.files)), make([][]byte, len(p.files))
	for i, file := range p.files {
		if sources[i], err = os.ReadFile(file); err != nil {
			return nil, nil, nil, err
		}
		if parsed[i], err = parser.ParseFile(fset, file, sources[i], parser.SkipObjectResolution); err != nil {
			return nil, nil, nil, err
		}
	}
	info := &types.Info{Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	if _, err := config.Check(p.path, fset, parsed, info); err != nil {
		return nil, nil, nil, err
	}
	var mutants []*mutant
	changed := make(map[string][]byte)
	for i, file := range parsed {
		name, err := filepath.Rel(root, p.files[i])
		if err != nil {
			return nil, nil, nil, err
		}
		w := &walker{
			fset: fset, info: info, source: sources[i], file: filepath.ToSlash(name), next: len(mutants) + 1,
		}
		w.walk(file)
		mutants = append(mutants, w.mutants...)
		changed[p.files[i]] = w.edits.apply(sources[i])
	}
	text := strings.Replace(switches, "package mutated", "package "+p.name, 1)
	changed[filepath.Join(p.dir, "mutant_switch.go")] = []byte(text)
	number(mutants)
	return p, mutants, changed, nil
}
