package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// watchEvery is the time between two refreshes of the status.
const watchEvery = 2 * time.Second

// view writes what a command shows.
type view func(ctx context.Context, to io.Writer) error

// readable returns a view whose text a terminal can show, unless it is JSON.
func readable(asJSON bool, show view) view {
	if asJSON {
		return show
	}
	return func(ctx context.Context, to io.Writer) error {
		var text strings.Builder
		err := show(ctx, &text)
		_, _ = io.WriteString(to, printable(text.String()))
		return err
	}
}

// once has show write to out. The exit status says, in this order, that a signal interrupted it, that out takes no
// text, or what show found.
func once(ctx context.Context, out io.Writer, show view) error {
	var text strings.Builder
	err := show(ctx, &text)
	unwritten := emit(ctx, out, text.String())
	if interrupted := context.Cause(ctx); interrupted != nil {
		return interrupted
	}
	return cmp.Or(unwritten, err)
}

// onceOrWatch has show write to out once or, watching, to the terminal until ctx ends.
func onceOrWatch(ctx context.Context, out io.Writer, watching bool, pause time.Duration, show view) error {
	if watching {
		return watch(ctx, os.Stdout, pause, show)
	}
	return once(ctx, out, show)
}

// watch fills the terminal with what show writes, again after each pause, until ctx ends or the terminal takes no text.
// An error of show is printed below its text and ends nothing, except one about the usage. After a signal the result is
// nil.
func watch(ctx context.Context, to *os.File, pause time.Duration, show view) error {
	fd := int(to.Fd())
	if !term.IsTerminal(fd) {
		return usage("--watch needs a terminal: leave it out to print once")
	}
	defer interpretEscapes(to)()
	for next := time.After(0); ; next = time.After(pause) {
		select {
		case <-next:
		case <-ctx.Done():
			return nil
		}
		var text bytes.Buffer
		err := show(ctx, &text)
		if ctx.Err() != nil {
			return nil
		}
		if code, message := outcome(err); code == exitUsage {
			return err
		} else if message != "" {
			text.WriteString(printable(message) + "\n")
		}
		columns, rows, err := term.GetSize(fd)
		if err != nil || columns == 0 || rows == 0 { // it does not know
			columns, rows = 80, 24
		}
		title := fmt.Sprintf("%s, refreshed every %v, Ctrl-C ends", time.Now().Format(time.TimeOnly), pause)
		if err := emit(ctx, to, frame(title+"\n\n"+text.String(), columns, rows)); err != nil {
			return err // the terminal is gone
		}
	}
}

const (
	cursorHome     = "\x1b[H"
	eraseToLineEnd = "\x1b[K"
	eraseToEnd     = "\x1b[J"
)

// frame returns what replaces the contents of a terminal by text. It overwrites line by line, which does not flicker.
// It wraps long lines, and cuts off the rows that would scroll the terminal.
func frame(text string, columns, rows int) string {
	var lines []string
	for l := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		rest := []rune(l)
		for ; len(rest) > columns; rest = rest[columns:] {
			lines = append(lines, string(rest[:columns]))
		}
		lines = append(lines, string(rest))
	}
	if len(lines) >= rows {
		lines = append(lines[:max(rows-2, 0)], "…")
	}
	return cursorHome + strings.Join(lines, eraseToLineEnd+"\n") + eraseToLineEnd + "\n" + eraseToEnd
}
