package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/replyerr"
)

const (
	showAfter = 500 * time.Millisecond // a shorter wait shows nothing
	showEvery = time.Second
	// reportAfter is when a wait is reported if stderr is no terminal.
	reportAfter = time.Second
	// hideWithin bounds the delay of the command until the line is removed from a terminal.
	hideWithin = 50 * time.Millisecond
)

// showWait shows why name is not locked yet, for example who holds it and for how long. It redraws one line on stderr
// regularly, or prints one if stderr is no terminal. shared reports whether the waiter would share the lock with
// readers. hide removes the line and returns when nothing more is drawn.
func showWait(locker *redlock.Locker, name string, shared bool, why *refusals) (hide func()) {
	fd := int(os.Stderr.Fd())
	ctx, cancel := context.WithCancel(context.Background())
	var showing sync.WaitGroup
	w := watcher{
		locker: locker, name: name, shared: shared, outer: outerTokens()[name], why: why, since: time.Now(),
	}
	showing.Go(func() {
		if !term.IsTerminal(fd) {
			if text, ok := w.lineAfter(ctx, reportAfter); ok {
				stderr.say(text)
			}
			return
		}
		l := line{to: stderr, width: func() int { w, _, _ := term.GetSize(fd); return w }}
		defer func() {
			if l.clear() {
				stderr.flush(hideWithin)
			}
		}()
		for after := showAfter; ; after = showEvery {
			text, ok := w.lineAfter(ctx, after)
			if !ok {
				return
			}
			l.draw(inline(text))
		}
	})
	return func() {
		cancel()
		showing.Wait()
	}
}

// watcher turns the masters' reports into a line of text, and remembers since when it has seen a holder.
type watcher struct {
	locker *redlock.Locker
	why    *refusals

	name   string
	shared bool
	outer  []string // the tokens of the locks on this name under which this process runs
	since  time.Time

	token       string    // the holder that the line names
	holderSince time.Time // when that holder was first seen
}

// lineAfter returns what to show after d; ok is false if ctx has ended.
func (w *watcher) lineAfter(ctx context.Context, d time.Duration) (text string, ok bool) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return "", false
	}
	holding, err := w.locker.Inspect(ctx, w.name)
	text = w.text(time.Now(), holding, err)
	nodes, _ := w.locker.Nodes(ctx)
	if r := reportMasters(nodes); len(nodes) > 0 && !r.Quorum { // the holder may be an attempt of this process
		text = w.prefix(time.Now()) + r.shortage(nodes)
	} else if refused := w.why.text(len(nodes)); refused != "" && (err != nil || len(holding.Holders) == 0) {
		text = w.prefix(time.Now()) + refused
	}
	return text, ctx.Err() == nil
}

// refusals has the error replies of the masters that may vote but refuse the lock, as when they are out of memory.
type refusals struct {
	mu   sync.Mutex
	last map[string]error // of the last request for the lock, by master; nil: it was answered, or there was no reply
}

// note is the Vote hook of a Locker.
func (r *refusals) note(_ context.Context, e redlock.VoteEvent) {
	if e.Op != "acquire" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = map[string]error{}
	}
	r.last[e.Node] = nil
	if replyerr.Is(e.Err) {
		r.last[e.Node] = e.Err
	}
}

// text says which master refuses the lock, and why, if so many of n masters do that the others are no majority.
func (r *refusals) text(n int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var refuse []string
	for _, name := range slices.Sorted(maps.Keys(r.last)) {
		if r.last[name] != nil {
			refuse = append(refuse, name)
		}
	}
	if len(refuse) == 0 || n-len(refuse) > n/2 {
		return ""
	}
	return fmt.Sprintf("%d of %d masters refuse the lock: %s: %v", len(refuse), n, refuse[0], r.last[refuse[0]])
}

func (w *watcher) prefix(now time.Time) string {
	return fmt.Sprintf("redlock: waiting %s for %s: ", shortDuration(now.Sub(w.since)), quote(w.name))
}

func (w *watcher) text(now time.Time, holding redlock.Holding, err error) string {
	head := w.prefix(now)
	if err != nil || len(holding.Holders) == 0 {
		w.token, w.holderSince = "", time.Time{}
		if err != nil {
			return head + "no majority of the masters answers"
		}
		if some := countHeld(holding.Nodes); some > 0 {
			return head + fmt.Sprintf("held on %d of %d masters, no majority by one holder", some, len(holding.Nodes))
		}
		return head + "free, or between two holders"
	}
	if w.shared && holding.Kind == "reader" { // the waiter would share the lock with them
		head += "an exclusive waiter is ahead"
		if holds(holding.Holders, w.outer) > 0 { // they may wait for each other without end, unless one gives up
			head += ", and it waits for the redlock that started this command"
		}
		head += "; "
	}
	return head + "held by " + w.describeHolder(now, holding) + ", " + describeEnd(holding.Holders)
}

// countHeld returns on how many masters the name is taken.
func countHeld(nodes []redlock.NodeHolding) int {
	n := 0
	for _, node := range nodes {
		if node.Kind != "" {
			n++
		}
	}
	return n
}

// shortage describes how many masters may vote, and when it will be a majority if only restart windows must pass.
func (r mastersReport) shortage(nodes []redlock.NodeStatus) string {
	text := fmt.Sprintf("%d of %d masters may vote, %d are needed", r.MayVote, r.Votes, r.Needed)
	var in []time.Duration
	for _, n := range nodes {
		if n.MayVote || n.VoteIn > 0 {
			in = append(in, n.VoteIn)
		}
	}
	if len(in) < r.Needed {
		return text + "; redlock status shows why"
	}
	slices.Sort(in)
	return text + "; they restarted within the restart window, and may vote in " + shortDuration(in[r.Needed-1])
}

// describeHolder names one holder, the same one as long as it holds the lock, and counts the others.
func (w *watcher) describeHolder(now time.Time, holding redlock.Holding) string {
	same := func(h redlock.Holder) bool { return h.Token == w.token }
	if w.holderSince.IsZero() || !slices.ContainsFunc(holding.Holders, same) {
		w.token, w.holderSince = holding.Holders[0].Token, now
	}
	text := owner(w.token)
	if w.token == "" { // the key is no lock
		text += " (" + string(holding.Kind) + ")"
	}
	switch others := len(holding.Holders) - 1 + holding.Others; {
	case holding.Depth > 1: // all holds are the owner's
		text += fmt.Sprintf(" (depth %d)", holding.Depth)
	case others > 0:
		text += fmt.Sprintf(" and %d more", others)
	}
	if seen := now.Sub(w.holderSince); seen >= time.Second {
		text += " for " + shortDuration(seen) + " or longer"
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

// clear removes the line, and reports whether there was one.
func (l *line) clear() bool {
	if l.drawn == 0 {
		return false
	}
	fmt.Fprintf(l.to, "\r%s\r", strings.Repeat(" ", l.drawn))
	l.drawn = 0
	return true
}
