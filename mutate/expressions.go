package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

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
