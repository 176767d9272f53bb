package simulation

import (
	"crypto/sha1"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/internal/simnet"
)

// labels maps the SHA-1 of each script to a short description, taken from a comment in the script.
type labels map[string]string

// block matches a comment of a script that fills whole lines. It captures the first line.
var block = regexp.MustCompile(`(?m)^-- (.*)\n(?:--.*\n)*`)

// learn records the label of a script: the start of its last comment block. Helper functions that scripts share, and
// their comments, come first.
func (l labels) learn(e simnet.Event) {
	if len(e.Args) < 2 || !strings.EqualFold(e.Args[0], "EVAL") || l.of(e) != "" {
		return
	}
	if blocks := block.FindAllStringSubmatch(e.Args[1], -1); len(blocks) > 0 {
		l[digest(e.Args[1])], _, _ = strings.Cut(blocks[len(blocks)-1][1], ",")
	}
}

// of returns the label of the script that a command runs, or "" if it runs none.
func (l labels) of(e simnet.Event) string {
	switch {
	case len(e.Args) > 1 && strings.EqualFold(e.Args[0], "EVAL"):
		return l[digest(e.Args[1])]
	case len(e.Args) > 1 && strings.EqualFold(e.Args[0], "EVALSHA"):
		return l[e.Args[1]]
	default:
		return ""
	}
}

// acquires reports whether the command tries to acquire a lock.
func (l labels) acquires(e simnet.Event) bool {
	return strings.EqualFold(e.Args[0], "SET") || strings.HasPrefix(l.of(e), "Acquires")
}

func digest(text string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(text))) }

var random = regexp.MustCompile(`([0-9a-f]{8})[0-9a-f]{24,}`)

// describe returns one line for a command and its reply, shortened.
func (l labels) describe(e simnet.Event) string {
	args := slices.Clone(e.Args)
	if what := l.of(e); what != "" {
		args = slices.Concat([]string{"<" + what + ">"}, args[min(3, len(args)):])
	}
	text := fmt.Sprintf("%s: %s -> %s",
		e.Host, strings.Join(args, " "), strings.ReplaceAll(strings.TrimSpace(e.Reply), "\r\n", " "))
	text = random.ReplaceAllString(text, "$1…")
	if len(text) > 240 {
		text = text[:240] + "…"
	}
	return text
}
