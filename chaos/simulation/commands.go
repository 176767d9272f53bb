package simulation

import (
	"crypto/sha1"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/internal/simnet"
)

// labels are what the scripts say of themselves, by their SHA-1.
type labels map[string]string

// block is a comment that stands by itself.
var block = regexp.MustCompile(`(?m)^-- (.*)\n(?:--.*\n)*`)

// learn takes note of a script's text: what it does stands behind what it shares with others.
func (l labels) learn(e simnet.Event) {
	if len(e.Args) < 2 || !strings.EqualFold(e.Args[0], "EVAL") {
		return
	}
	if blocks := block.FindAllStringSubmatch(e.Args[1], -1); len(blocks) > 0 {
		what, _, _ := strings.Cut(blocks[len(blocks)-1][1], ",")
		l[digest(e.Args[1])] = what
	}
}

// of is what a command runs; "" if it is no script.
func (l labels) of(e simnet.Event) string {
	switch {
	case len(e.Args) < 2:
		return ""
	case strings.EqualFold(e.Args[0], "EVAL"):
		return l[digest(e.Args[1])]
	case strings.EqualFold(e.Args[0], "EVALSHA"):
		return l[e.Args[1]]
	}
	return ""
}

// acquires: the command asks for a lock.
func (l labels) acquires(e simnet.Event) bool {
	return strings.EqualFold(e.Args[0], "SET") || strings.HasPrefix(l.of(e), "Acquires")
}

func digest(text string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(text))) }

var random = regexp.MustCompile(`([0-9a-f]{8})[0-9a-f]{24,}`)

// describe words a command and its answer, shortened.
func (l labels) describe(e simnet.Event) string {
	args := slices.Clone(e.Args)
	if what := l.of(e); what != "" {
		args = slices.Concat([]string{"<" + what + ">"}, args[min(3, len(args)):])
	}
	text := fmt.Sprintf("%s: %s -> %s", e.Host, strings.Join(args, " "), strings.ReplaceAll(strings.TrimSpace(e.Reply), "\r\n", " "))
	text = random.ReplaceAllString(text, "$1…")
	if len(text) > 240 {
		text = text[:240] + "…"
	}
	return text
}
