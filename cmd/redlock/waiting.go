package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/redlock-go/redlock"
)

const (
	showAfter = 500 * time.Millisecond // a shorter wait shows nothing
	showEvery = time.Second
)

// showWait shows who holds name and for how long, in one line on stderr that it redraws regularly. It shows nothing if
// stderr is no terminal. shared reports whether the waiter would share the lock with readers. hide removes the line and
// returns when nothing more is drawn.
func showWait(locker *redlock.Locker, name string, shared bool) (hide func()) {
	fd := int(os.Stderr.Fd())
	if !term.IsTerminal(fd) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var drawing sync.WaitGroup
	drawing.Go(func() {
		l := line{to: os.Stderr, width: func() int { w, _, _ := term.GetSize(fd); return w }}
		defer l.clear()
		w := watcher{name: name, shared: shared, since: time.Now()}
		for next := time.After(showAfter); ; next = time.After(showEvery) {
			select {
			case <-next:
			case <-ctx.Done():
				return
			}
			holding, err := locker.Inspect(ctx, name)
			if ctx.Err() != nil {
				return
			}
			l.draw(w.text(time.Now(), holding, err))
		}
	})
	return func() {
		cancel()
		drawing.Wait()
	}
}

// watcher turns the masters' reports into a line of text, and remembers since when it has seen a holder.
type watcher struct {
	name   string
	shared bool
	since  time.Time

	token string
	seen  time.Time
}

func (w *watcher) text(now time.Time, holding redlock.Holding, err error) string {
	head := fmt.Sprintf("redlock: waiting %s for %s: ", short(now.Sub(w.since)), quote(w.name))
	if err != nil || len(holding.Holders) == 0 {
		w.token = ""
		if err != nil {
			return head + "no majority of the masters answers"
		}
		return head + "free, or between two holders"
	}
	if w.shared && holding.Kind == "reader" { // the waiter would share the lock with them
		head += "an exclusive waiter is ahead; "
	}
	text := head + "held by " + w.who(now, holding)
	left := holding.Holders[0].Left // when the last of them is gone
	for _, h := range holding.Holders {
		if h.Left < 0 {
			return text + ", without an end"
		}
		left = max(left, h.Left)
	}
	return text + ", " + short(left) + " left unless it is extended"
}

// who names one holder, the same one as long as it holds the lock, and counts the others.
func (w *watcher) who(now time.Time, holding redlock.Holding) string {
	if !slices.ContainsFunc(holding.Holders, func(h redlock.Holder) bool { return h.Token == w.token }) {
		w.token, w.seen = holding.Holders[0].Token, now
	}
	text := owner(w.token)
	switch others := len(holding.Holders) - 1; {
	case holding.Depth > 1: // all holds are the owner's
		text += fmt.Sprintf(" (depth %d)", holding.Depth)
	case others > 0:
		text += fmt.Sprintf(" and %d more", others)
	}
	if seen := now.Sub(w.seen); seen >= time.Second {
		text += " for " + short(seen) + " or longer"
	}
	return text
}

// line is one line of a terminal.
type line struct {
	to    io.Writer
	width func() int
	drawn int // columns in use
}

// draw replaces the line by text, cut to the terminal's width: a line that wraps cannot be drawn again.
func (l *line) draw(text string) {
	if w := l.width(); w > 1 && utf8.RuneCountInString(text) >= w {
		text = string([]rune(text)[:w-2]) + "…"
	}
	n := utf8.RuneCountInString(text)
	fmt.Fprintf(l.to, "\r%s%s", text, strings.Repeat(" ", max(0, l.drawn-n)))
	l.drawn = n
}

// clear removes the line.
func (l *line) clear() {
	if l.drawn > 0 {
		fmt.Fprintf(l.to, "\r%s\r", strings.Repeat(" ", l.drawn))
		l.drawn = 0
	}
}
