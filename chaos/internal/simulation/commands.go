package simulation

import (
	"crypto/sha1"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/redlock-go/redlock/internal/simnet"
)

// labels are what the scripts say of themselves, by their SHA-1.
type labels map[string]string

// block is a comment that stands by itself.
var block = regexp.MustCompile(`(?m)^-- (.*)\n(?:--.*\n)*`)

// read are the scripts that were looked at: every master of every run gets the same ones.
var read sync.Map // text to [2]string: digest and label

// learn takes note of a script's text: what it does stands behind what it shares with others.
func (l labels) learn(e simnet.Event) {
	if len(e.Args) < 2 || !strings.EqualFold(e.Args[0], "EVAL") {
		return
	}
	known, ok := read.Load(e.Args[1])
	if !ok {
		blocks := block.FindAllStringSubmatch(e.Args[1], -1)
		if len(blocks) == 0 {
			return
		}
		what, _, _ := strings.Cut(blocks[len(blocks)-1][1], ",")
		known = [2]string{digest(e.Args[1]), what}
		read.Store(e.Args[1], known)
	}
	script := known.([2]string)
	l[script[0]] = script[1]
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

// reenters returns what a command is about that takes a hold of a reentrant lock, or settles its fencing token; nothing
// of any other command.
func (l labels) reenters(e simnet.Event) (name, owner, token string) {
	const kind = 6 // behind the script and three keys
	what := l.of(e)
	if len(e.Args) < kind+2 || e.Args[kind] != "reentrant" ||
		!(strings.HasPrefix(what, "Acquires") || strings.HasPrefix(what, "Raises")) {
		return "", "", ""
	}
	token = e.Args[kind+1]
	owner, _, _ = strings.Cut(token, ":")
	return e.Args[3], owner, token
}

func digest(text string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(text))) }

var random = regexp.MustCompile(`([0-9a-f]{8})[0-9a-f]{24,}`)

// describe words a command and its answer, shortened.
func (l labels) describe(e simnet.Event) string {
	args := slices.Clone(e.Args)
	if what := l.of(e); what != "" {
		args = slices.Concat([]string{"<" + what + ">"}, args[min(3, len(args)):])
	}
	text := fmt.Sprintf(
		"%s: %s -> %s",
		e.Host,
		strings.Join(args, " "),
		strings.ReplaceAll(strings.TrimSpace(e.Reply), "\r\n", " "),
	)
	text = random.ReplaceAllString(text, "$1…")
	if len(text) > 240 {
		text = text[:240] + "…"
	}
	return text
}
