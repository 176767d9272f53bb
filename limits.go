package redlock

import (
	"fmt"
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
