package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// walker finds the mutants of one file.
type walker struct {
	fset   *token.FileSet
	info   *types.Info
	source []byte
	file   string
	next   int // the id of the next mutant

	edits   edits
	mutants []*mutant
	scope   string
	results bool // the function returns something
}

func (w *walker) offset(pos token.Pos) int { return w.fset.Position(pos).Offset }

func (w *walker) text(n ast.Node) string {
	return excerpt(w.source[w.offset(n.Pos()):w.offset(n.End())])
}

// add notes a mutant and returns its id.
func (w *walker) add(n ast.Node, before, after string) int {
	m := &mutant{
		id: w.next, file: w.file, line: w.fset.Position(n.Pos()).Line, scope: w.scope, before: before, after: after,
	}
	w.next++
	w.mutants = append(w.mutants, m)
	return m.id
}

// wrap puts a text before and after a node.
func (w *walker) wrap(n ast.Node, before, after string) {
	w.edits.wrap(w.offset(n.Pos()), w.offset(n.End()), before, after)
}

func (w *walker) walk(file *ast.File) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				w.scope, w.results = d.Name.Name, d.Type.Results != nil
				if d.Recv != nil {
					w.scope = strings.TrimLeft(w.text(d.Recv.List[0].Type), "*") + "." + w.scope
				}
				w.node(d.Body)
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				w.scope = "var"
				w.node(d)
			}
		}
	}
}

// node finds the mutants of a node and of all nodes in it.
func (w *walker) node(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			outer := w.results
			w.results = n.Type.Results != nil
			w.node(n.Body)
			w.results = outer
			return false
		case *ast.GenDecl:
			return n.Tok == token.VAR
		case *ast.ArrayType, *ast.StructType, *ast.FuncType, *ast.InterfaceType, *ast.MapType, *ast.ChanType:
			return false
		case *ast.KeyValueExpr:
			if _, literal := n.Key.(*ast.BasicLit); literal {
				w.node(n.Value)
				return false
			}
		case *ast.BlockStmt:
			w.statements(n.List)
		case *ast.CaseClause:
			w.statements(n.Body)
		case *ast.CommClause:
			w.statements(n.Body)
		case *ast.IfStmt:
			w.condition(n.Cond)
		case *ast.ForStmt:
			w.condition(n.Cond)
		case *ast.SwitchStmt:
			w.cases(n)
		case *ast.ReturnStmt:
			w.returned(n)
		case *ast.CallExpr:
			return w.call(n)
		case *ast.BinaryExpr:
			return w.binary(n)
		case *ast.Ident:
			w.literal(n)
		case *ast.BasicLit:
			w.integer(n)
		case *ast.SelectorExpr:
			w.node(n.X)
			return false
		}
		return true
	})
}

func (w *walker) constant(e ast.Expr) bool { return w.info.Types[e].Value != nil }

func (w *walker) is(e ast.Expr, what types.BasicInfo) bool {
	t := w.info.TypeOf(e)
	if t == nil {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&what != 0
}

// call sees to the reading of an embedded file, which may be a mutated script. It leaves out sizes.
func (w *walker) call(call *ast.CallExpr) bool {
	if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "make" {
		return false
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || method.Sel.Name != "ReadFile" {
		return true
	}
	if t := w.info.TypeOf(method.X); t != nil && t.String() == "embed.FS" {
		w.wrap(method, "mutantFile(", ")")
	}
	return true
}
