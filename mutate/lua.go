package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// luaToken is a part of a script: a name, a number, an operator, or a string. Comments and spaces are none.
type luaToken struct {
	text  string
	start int
}

var luaParts = regexp.MustCompile(
	`--[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|[A-Za-z_]\w*|\d[\w.]*|==|~=|<=|>=|\.\.\.?|\s+|.`)

func luaTokens(text string) []luaToken {
	var tokens []luaToken
	for _, at := range luaParts.FindAllStringIndex(text, -1) {
		part := text[at[0]:at[1]]
		if !strings.HasPrefix(part, "--") && strings.TrimSpace(part) != "" {
			tokens = append(tokens, luaToken{part, at[0]})
		}
	}
	return tokens
}

// luaSwaps are the other tokens that take the place of one.
var luaSwaps = map[string][]string{
	"==": {"~="}, "~=": {"=="}, "<": {"<=", ">="}, "<=": {"<", ">"}, ">": {">=", "<="}, ">=": {">", "<"},
	"and": {"or"}, "or": {"and"}, "not": {""}, "true": {"false"}, "false": {"true"},
	"+": {"-"}, "-": {"+"}, "*": {"/"}, "/": {"*"}, "max": {"min"}, "min": {"max"},
}

// luaStatement is a line that is a whole statement. Declarations are left: without them nothing works.
var luaStatement = regexp.MustCompile(
	`^(redis\.p?call|[a-z]\w*)\(.*\)$|^[a-z][\w., \[\]()]* = .*[^(,+]$|^return$|^return nil$`)

// luaCondition is the condition of a line.
var luaCondition = regexp.MustCompile(`^((?:else)?if )(.*)( then)$`)

// luaMutants returns the mutants of the scripts in a folder of a package.
func luaMutants(root, dir string) ([]*mutant, error) {
	files, err := filepath.Glob(filepath.Join(root, dir, "lua", "*.lua"))
	if err != nil {
		return nil, err
	}
	var mutants []*mutant
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		mutants = append(mutants, luaFile(filepath.ToSlash(filepath.Join(dir, "lua", filepath.Base(file))), string(text))...)
	}
	number(mutants)
	return mutants, nil
}

// luaFile returns the mutants of one script.
func luaFile(file, text string) []*mutant {
	var mutants []*mutant
	change := func(start, end int, with, before, after string) {
		mutants = append(mutants, &mutant{
			file: file, line: 1 + strings.Count(text[:start], "\n"), script: text[:start] + with + text[end:],
			before: excerpt([]byte(before)), after: excerpt([]byte(after)),
		})
	}
	tokens := luaTokens(text)
	for i, token := range tokens {
		others := luaSwaps[token.text]
		if (token.text == "-" || token.text == "+") && !operand(tokens, i-1) {
			others = nil // a sign
		}
		if token.text[0] >= '0' && token.text[0] <= '9' {
			others = []string{token.text + "+1"}
		}
		line := strings.TrimSpace(lineAt(text, token.start))
		for _, other := range others {
			changed := text[:token.start] + other + text[token.start+len(token.text):]
			change(token.start, token.start+len(token.text), other, line, strings.TrimSpace(lineAt(changed, token.start)))
		}
	}
	start := 0
	for whole := range strings.Lines(text) {
		line := strings.TrimSpace(whole)
		at := start + strings.Index(whole, line)
		start += len(whole)
		if luaStatement.MatchString(line) && !strings.HasPrefix(line, "local ") {
			change(at, at+len(line), "", line, "")
		}
		if c := luaCondition.FindStringSubmatch(line); c != nil && !strings.ContainsAny(c[2], "=<>") {
			with := c[1] + "not (" + c[2] + ")" + c[3]
			change(at, at+len(line), with, line, with)
		}
	}
	return mutants
}

// operand reports whether a token ends an operand, so that a sign after it is an operator.
func operand(tokens []luaToken, i int) bool {
	const others = "return and or not = ( { , [ == ~= < > <= >= .."
	return i >= 0 && !slices.Contains(strings.Fields(others), tokens[i].text)
}

// lineAt returns the line around an offset.
func lineAt(text string, at int) string {
	start := strings.LastIndex(text[:at], "\n") + 1
	line, _, _ := strings.Cut(text[start:], "\n")
	return line
}
