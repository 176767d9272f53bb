package redlock

import (
	"fmt"
	"unicode/utf8"
)

// What is sent to the masters is bounded: servers and proxies hang up at requests that are too large, and a lock with a long
// name costs all that share its connections.
const (
	maxName  = 4096 // bytes
	maxNames = 256  // of one LockAll
	maxOwner = 1024 // bytes
	maxToken = 4096 // bytes, of Attach; ours have no more than an owner and 33
)

// tooLong returns an error if s is longer than that. what says what s is.
func tooLong(what, s string, most int) error {
	if len(s) <= most {
		return nil
	}
	return fmt.Errorf("redlock: the %s %q has %d bytes: it may have at most %d", what, truncated(s), len(s), most)
}

// truncated is the beginning of a long text, for errors.
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
