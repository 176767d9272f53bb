package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// statements drops statements, one by one.
func (w *walker) statements(list []ast.Stmt) {
	for _, s := range list {
		if w.removable(s) {
			w.wrap(s, fmt.Sprintf("if !mutantOn(%d) { ", w.add(s, w.text(s), "")), " }")
		}
	}
}

// removable reports whether the file compiles without a statement. That of a mutex is left: without it, nothing works,
// or only the race detector sees it.
func (w *walker) removable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		return !ok || !w.locks(call) && !w.panics(call)
	case *ast.DeferStmt:
		return !w.locks(s.Call)
	case *ast.AssignStmt:
		blank, ok := s.Lhs[0].(*ast.Ident)
		return s.Tok != token.DEFINE && (!ok || blank.Name != "_")
	case *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt:
		return true
	case *ast.BranchStmt:
		return s.Tok == token.BREAK || s.Tok == token.CONTINUE
	case *ast.ReturnStmt:
		return !w.results
	default:
		return false
	}
}

func (w *walker) locks(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Lock", "Unlock", "RLock", "RUnlock"}, method.Sel.Name)
}

func (w *walker) panics(call *ast.CallExpr) bool {
	name, ok := call.Fun.(*ast.Ident)
	return ok && name.Name == "panic"
}

// returned negates what a function returns, and forgets its error.
func (w *walker) returned(s *ast.ReturnStmt) {
	for _, e := range s.Results {
		if name, ok := e.(*ast.Ident); ok && (name.Name == "true" || name.Name == "false" || name.Name == "nil") {
			continue
		}
		if t := w.info.TypeOf(e); t != nil && types.Identical(t, types.Universe.Lookup("error").Type()) {
			w.wrap(e, fmt.Sprintf("mutantError(%d, ", w.add(e, "return "+w.text(e), "return nil")), ")")
			continue
		}
		w.condition(e)
	}
}
