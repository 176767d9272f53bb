package suite

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

const clearLine = "\r\x1b[K"

// progress prints the progress. On a terminal it updates one line; elsewhere it prints a line for every stage.
type progress struct {
	w        io.Writer
	terminal bool
}

func newProgress(f *os.File) *progress {
	return &progress{w: f, terminal: term.IsTerminal(int(f.Fd()))}
}

// live shows the current step on a terminal, and nothing elsewhere.
func (p *progress) live(format string, args ...any) {
	if p.terminal {
		fmt.Fprint(p.w, clearLine+fmt.Sprintf(format, args...))
	}
}

// stage announces a new stage.
func (p *progress) stage(format string, args ...any) {
	p.clear()
	fmt.Fprintf(p.w, "bench: "+format+"\n", args...)
}

// clear removes the live line.
func (p *progress) clear() { p.live("") }
