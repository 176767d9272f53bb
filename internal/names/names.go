// Package names checks how long the names of locks, owners and tokens are, and shortens them for errors and logs. It
// has the name of the masters for development.
package names

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckLength returns an error if s has more than most bytes. what names s in the error.
func CheckLength(what, s string, most int) error {
	if len(s) <= most {
		return nil
	}
	return fmt.Errorf("redlock: the %s %q has %d bytes: it may have at most %d", what, Truncate(s), len(s), most)
}

// Quote returns a name as errors show it.
func Quote(name string) string {
	if short := Truncate(name); short != name {
		return fmt.Sprintf("%q (%d bytes)", short, len(name))
	}
	return strconv.Quote(name)
}

// List returns names as errors and logs show them: each as show returns it, and of many only the first.
func List(names []string, show func(string) string) string {
	const shown = 3
	first := make([]string, min(len(names), shown))
	for i := range first {
		first[i] = show(names[i])
	}
	text := strings.Join(first, ", ")
	if more := len(names) - len(first); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Printable returns s with a replacement for each character that cannot be printed.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// Truncate returns s, or its beginning if it is too long for an error.
func Truncate(s string) string {
	const shown = 48
	if len(s) <= shown {
		return s
	}
	end := shown
	for end > shown-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// DevServer is the server_name in INFO of the masters that run in a process of this module, for development and tests.
const DevServer = "redlock-dev"
