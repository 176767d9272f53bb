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
	if !ok {
		return false
	}
	switch method.Sel.Name {
	case "Lock", "Unlock", "RLock", "RUnlock":
		return true
	default:
		return false
	}
}

func (w *walker) panics(call *ast.CallExpr) bool {
	name, ok := call.Fun.(*ast.Ident)
	return ok && name.Name == "panic"
}

// condition negates a condition that is no comparison. Comparisons, and the operands of && and ||, are seen to anyway.
func (w *walker) condition(e ast.Expr) {
	switch e := e.(type) {
	case nil, *ast.BinaryExpr:
	case *ast.ParenExpr:
		w.condition(e.X)
	default:
		if !w.constant(e) && w.is(e, types.IsBoolean) {
			w.wrap(e, "((", fmt.Sprintf(") != mutantOn(%d))", w.add(e, w.text(e), negation(w.text(e)))))
		}
	}
}

func negation(text string) string {
	if rest, ok := strings.CutPrefix(text, "!"); ok {
		return rest
	}
	return "!" + text
}

// cases sees to the conditions of a switch without a value.
func (w *walker) cases(s *ast.SwitchStmt) {
	if s.Tag != nil {
		return
	}
	for _, clause := range s.Body.List {
		for _, e := range clause.(*ast.CaseClause).List {
			w.condition(e)
		}
	}
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

var ordered = map[token.Token]struct {
	function        string
	other, opposite token.Token
}{
	token.LSS: {"mutantLess", token.LEQ, token.GEQ},
	token.LEQ: {"mutantLessOrEqual", token.LSS, token.GTR},
	token.GTR: {"mutantGreater", token.GEQ, token.LEQ},
	token.GEQ: {"mutantGreaterOrEqual", token.GTR, token.LSS},
}

var arithmetic = map[token.Token]struct {
	function string
	other    token.Token
}{
	token.ADD: {"mutantAdd", token.SUB},
	token.SUB: {"mutantSubtract", token.ADD},
	token.MUL: {"mutantMultiply", token.QUO},
	token.QUO: {"mutantDivide", token.MUL},
	token.REM: {"mutantRemainder", token.MUL},
	token.AND: {"mutantAnd", token.OR},
	token.OR:  {"mutantOr", token.AND},
}

// binary changes an operator. It reports whether the operands are to be looked at.
func (w *walker) binary(e *ast.BinaryExpr) bool {
	if w.constant(e) {
		return false
	}
	with := func(op token.Token) string { return w.text(e.X) + " " + op.String() + " " + w.text(e.Y) }
	switch e.Op {
	case token.EQL, token.NEQ:
		other := token.EQL
		if e.Op == other {
			other = token.NEQ
		}
		w.wrap(e, "((", fmt.Sprintf(") != mutantOn(%d))", w.add(e, w.text(e), with(other))))
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		is := ordered[e.Op]
		bound, negated := w.add(e, w.text(e), with(is.other)), w.add(e, w.text(e), with(is.opposite))
		w.function(e, fmt.Sprintf("(%s(%d, ", is.function, bound), fmt.Sprintf(") != mutantOn(%d))", negated))
	case token.LAND, token.LOR:
		w.operand(e, e.X)
		w.operand(e, e.Y)
	case token.SHL, token.SHR:
		return false
	default:
		if is, ok := arithmetic[e.Op]; ok && w.is(e, types.IsNumeric) {
			w.function(e, fmt.Sprintf("%s(%d, ", is.function, w.add(e, w.text(e), with(is.other))), ")")
		}
	}
	return true
}

// function makes a call of a binary expression.
func (w *walker) function(e *ast.BinaryExpr, before, after string) {
	w.wrap(e, before, after)
	at := w.offset(e.OpPos)
	w.edits.replace(at, at+len(e.Op.String()), ",")
}

// operand leaves out an operand of && or ||, and negates it if it is no comparison. An operand that is left out is not
// evaluated. A test has reached the mutant only where the operand decides.
func (w *walker) operand(e *ast.BinaryExpr, operand ast.Expr) {
	if inner, ok := operand.(*ast.BinaryExpr); ok && inner.Op == e.Op {
		return // its own operands are left out
	}
	other := w.text(e.Y)
	if operand == e.Y {
		other = w.text(e.X)
	}
	id := w.add(operand, w.text(e), other)
	if e.Op == token.LAND {
		w.wrap(operand, fmt.Sprintf("(mutantActive == %d || ", id), fmt.Sprintf(" || mutantOn(%d))", id))
	} else {
		w.wrap(operand, fmt.Sprintf("(mutantActive != %d && ", id), fmt.Sprintf(" && !mutantOn(%d))", id))
	}
	w.condition(operand)
}

// literal swaps true and false.
func (w *walker) literal(name *ast.Ident) {
	if object := w.info.Uses[name]; object == nil || object.Pkg() != nil || name.Name != "true" && name.Name != "false" {
		return
	}
	other := "true"
	if name.Name == other {
		other = "false"
	}
	w.wrap(name, "(", fmt.Sprintf(" != mutantOn(%d))", w.add(name, name.Name, other)))
}

// integer adds one to a number.
func (w *walker) integer(number *ast.BasicLit) {
	if basic, ok := w.info.TypeOf(number).(*types.Basic); ok && number.Kind == token.INT &&
		basic.Info()&types.IsInteger != 0 && basic.Info()&types.IsUntyped == 0 {
		id := w.add(number, number.Value, number.Value+" + 1")
		w.wrap(number, fmt.Sprintf("mutantInteger[%s](%d, ", basic.Name(), id), ")")
	}
}
