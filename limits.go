package redlock

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The bounds of what is sent to the masters. Servers and proxies close a connection at a request that is too large, and
// a long name slows down all locks that share its connections.
const (
	maxName  = 4096 // bytes
	maxNames = 256  // names of one LockAll
	maxOwner = 1024 // bytes
	maxToken = 4096 // bytes, for Attach; a token of a Locker has at most maxOwner + 33
)

// tooLong returns an error if s has more than most bytes. what names s in the error.
func tooLong(what, s string, most int) error {
	if len(s) <= most {
		return nil
	}
	return fmt.Errorf("redlock: the %s %q has %d bytes: it may have at most %d", what, truncated(s), len(s), most)
}

// quoted returns a name as errors show it.
func quoted(name string) string {
	if short := truncated(name); short != name {
		return fmt.Sprintf("%q (%d bytes)", short, len(name))
	}
	return strconv.Quote(name)
}

// listed returns names as errors and logs show them: each as show does, and of many only the first.
func listed(names []string, show func(string) string) string {
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

// truncated returns s, or its beginning if it is too long for an error.
func truncated(s string) string {
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
