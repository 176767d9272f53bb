package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/redlock-go/redlock/internal/kind"
)

// owner describes the owner of a token, ready for a terminal. A key that is no lock at all has no token.
func owner(token string) string {
	switch {
	case token == "":
		return "an unknown holder"
	case isKept(token):
		return "the minimum hold of " + quote(rawOwner(token))
	default:
		return quote(rawOwner(token))
	}
}

// rawOwner returns the readable part of a token, owner:random. The token of another client, which says nothing about
// its owner, is returned whole.
func rawOwner(token string) string {
	token = strings.TrimPrefix(token, keptPrefix)
	if i := strings.LastIndexByte(token, ':'); i > 0 && looksRandom(token[i+1:]) {
		return token[:i]
	}
	return token
}

// keptPrefix is how the token of a name begins that stays taken for the minimum hold of a lock that was unlocked.
var keptPrefix = kind.KeptToken("")

func isKept(token string) bool { return kind.IsKept(token) }

// looksRandom reports whether s looks like at least 16 random bytes, in hex or in base 64.
func looksRandom(s string) bool {
	return len(s) >= 22 && !strings.ContainsFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_+/=", r)
	})
}

// quote returns s as it is if a terminal can show it as one word, and quoted otherwise: names and tokens may be any
// bytes, and some move the cursor.
func quote(s string) string {
	plain := s != "" && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsPrint(r) || r == ' ' || r == '"'
	})
	if plain {
		return s
	}
	return strconv.Quote(s)
}

// shellWord returns s as a word that a shell takes as it is. Bytes that are no text need bash, zsh or ksh.
func shellWord(s string) string {
	switch {
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		text := strconv.Quote(s)
		return "$'" + strings.ReplaceAll(text[1:len(text)-1], "'", `\'`) + "'"
	case strings.ContainsAny(s, "$`\\\"!"):
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	case s == "" || strings.ContainsAny(s, " '|&;<>()*?[]{}#~^"):
		return `"` + s + `"`
	default:
		return s
	}
}

// shortDuration returns d with about two digits that matter: 0.085ms, 0.4ms, 12ms, 1.5s, 12s, 3m5s, 26h, 12d3h.
func shortDuration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "-" + shortDuration(-d)
	case d >= time.Microsecond && d < 100*time.Microsecond:
		return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', -1, 64) + "ms"
	case d < 10*time.Millisecond:
		return tenths(d, time.Millisecond) + "ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 10*time.Second:
		return tenths(d, time.Second) + "s"
	case d < time.Minute:
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	case d < time.Hour:
		return twoUnits(d, time.Minute, "m", time.Second, "s")
	case d < day:
		return twoUnits(d, time.Hour, "h", time.Minute, "m")
	default:
		return twoUnits(d, day, "d", time.Hour, "h")
	}
}

// tenths never rounds up: 9.98s is 9.9s, not 10.0s.
func tenths(d, unit time.Duration) string {
	return strconv.FormatFloat(float64(d/(unit/10))/10, 'f', 1, 64)
}

func twoUnits(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	text := strconv.FormatInt(int64(d/big), 10) + bigName
	if rest := d % big / small; rest > 0 {
		text += strconv.FormatInt(int64(rest), 10) + smallName
	}
	return text
}

// printf writes to the standard output of a command.
func printf(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.OutOrStdout(), format, args...)
}
