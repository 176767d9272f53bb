package main

import (
	"errors"
	"net"
	"os"
	"regexp"
	"strings"

	"github.com/redlock-go/redlock"
)

// reason returns a master's error in one line, without the master's name and the operation.
func reason(err error) string {
	if err == nil {
		return ""
	}
	var ne *redlock.NodeError
	if errors.As(err, &ne) {
		err = ne.Err
	}
	text := err.Error()
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Err != nil {
		text = dial.Err.Error() // the rest repeats the address
		if dial.Timeout() && errors.Is(err, os.ErrDeadlineExceeded) {
			text = "no answer in time"
		}
	}
	return inFlags(strings.TrimPrefix(strings.Join(strings.Fields(text), " "), "redlock: "))
}

// perMaster returns one indented line for each master's error in err.
func perMaster(err error) string {
	var b strings.Builder
	seen := map[string]bool{}
	var walk func(error)
	walk = func(err error) {
		if ne, ok := err.(*redlock.NodeError); ok { //nolint:errorlint // the tree is walked by hand: there are several
			if row := "\n  " + ne.Node + "  " + reason(ne); !seen[row] {
				seen[row] = true
				b.WriteString(row)
			}
			return
		}
		switch e := err.(type) { //nolint:errorlint // as above
		case interface{ WrappedErrors() []error }: // go-multierror, whose Unwrap hides all but one
			for _, inner := range e.WrappedErrors() {
				walk(inner)
			}
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				walk(inner)
			}
		case interface{ Unwrap() error }:
			if inner := e.Unwrap(); inner != nil {
				walk(inner)
			}
		}
	}
	walk(err)
	return b.String()
}

// flagOf maps each option of the library that an error may name to the flag of this program.
var flagOf = map[string]string{
	"WithTTL":             "--ttl",
	"WithMaxHold":         "--max-hold",
	"WithMinHold":         "--min-hold",
	"WithFencing":         "--fence",
	"WithOwner":           "--owner",
	"WithNodeTimeout":     "--node-timeout",
	"WithMaxTTL":          "--max-ttl",
	"WithoutRestartGuard": "--without-restart-guard",
}

// optionOrQuoted matches options, and quoted text, which may be a name that looks like an option.
var optionOrQuoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|(?:redlock\.)?(With(?:out)?[A-Z]\w*)(?:\([^()]*\))?`)

// inFlags replaces the library's options in a text by the flags of this program.
func inFlags(text string) string {
	return optionOrQuoted.ReplaceAllStringFunc(text, func(found string) string {
		if flag, ok := flagOf[optionOrQuoted.FindStringSubmatch(found)[1]]; ok {
			return flag
		}
		return found
	})
}
