package exact

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// bubbles begin virtual time, in which redlocktest.Start has no sockets. sockets are what a test in virtual time may
// not use: a test that reaches one of them, by itself or through functions of its package, needs the machine.
var (
	bubbles = []string{"synctest.Test", "redlocktest.StartVirtual"}
	sockets = []string{
		"exec", "redisproc", "redisbox", // whole packages
		"embedded.Open", "embedded.OpenAll", "miniredis.Run", "miniredis.RunT", "httptest.NewServer", "testnet.Serve",
		"testnet.ServeOn", "net.Listen", "net.ListenPacket", "net.Dial", "net.DialTimeout",
	}
)

// InVirtualTime returns the names of the tests in a folder that run in virtual time, in order.
func InVirtualTime(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	calls := map[string][]string{} // by function: the functions that it mentions
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				calls[fn.Name.Name] = append(calls[fn.Name.Name], mentioned(fn.Body)...)
			}
		}
	}
	var tests []string
	for name := range calls {
		if !strings.HasPrefix(name, "Test") || name == "TestMain" {
			continue
		}
		all := map[string]bool{}
		reach(calls, name, all)
		has := func(function string) bool { return all[function] }
		if slices.ContainsFunc(bubbles, has) && !slices.ContainsFunc(sockets, has) {
			tests = append(tests, name)
		}
	}
	slices.Sort(tests)
	return tests, nil
}

// mentioned returns the functions that a body mentions, as f or as p.f, and the packages, as p.
func mentioned(body ast.Node) (all []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if p, ok := n.X.(*ast.Ident); ok {
				all = append(all, p.Name+"."+n.Sel.Name)
			}
			all = append(all, n.Sel.Name) // a method of the package
		case *ast.Ident:
			all = append(all, n.Name)
		}
		return true
	})
	return all
}

// reach adds a function to all, and those that it reaches through those of its package.
func reach(calls map[string][]string, from string, all map[string]bool) {
	if all[from] {
		return
	}
	all[from] = true
	for _, next := range calls[from] {
		reach(calls, next, all)
	}
}
