package suite

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

const clearLine = "\r\x1b[K"

// progress shows a person the progress: in one line that changes where it is a terminal, in a line for every
// stage elsewhere.
type progress struct {
	w        io.Writer
	terminal bool
}

func newProgress(f *os.File) *progress {
	return &progress{w: f, terminal: term.IsTerminal(int(f.Fd()))}
}

// live says what is being done now, to a terminal only.
func (p *progress) live(format string, args ...any) {
	if p.terminal {
		fmt.Fprint(p.w, clearLine+fmt.Sprintf(format, args...))
	}
}

// stage says what begins.
func (p *progress) stage(format string, args ...any) {
	p.clear()
	fmt.Fprintf(p.w, "bench: "+format+"\n", args...)
}

// clear takes the live line away.
func (p *progress) clear() { p.live("") }
