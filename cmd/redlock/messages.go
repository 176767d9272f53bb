package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// stderr writes everything that this process says on its stderr.
var stderr = &messages{to: os.Stderr}

const (
	maxMessages = 256         // in the queue
	flushAtExit = time.Second // also if nobody reads stderr
)

// messages writes texts in order, in the background. Its callers never wait, because nobody may read the output. It
// drops a text while the queue is full, and says later how many it has dropped. It ignores errors.
type messages struct {
	to io.Writer

	mu      sync.Mutex
	queue   [][]byte
	dropped int           // texts since the queue had room
	idle    chan struct{} // closed when everything is written; nil: nothing is being written
}

// say queues lines of text.
func (m *messages) say(text string) { _, _ = m.Write([]byte(printable(text) + "\n")) }

// Write queues a copy of text as it is. The error is nil.
func (m *messages) Write(text []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) >= maxMessages {
		m.dropped++
		return len(text), nil
	}
	m.reportDropped()
	m.queue = append(m.queue, bytes.Clone(text))
	if m.idle == nil {
		m.idle = make(chan struct{})
		go m.write()
	}
	return len(text), nil
}

// reportDropped queues how many texts were dropped. It must be called with mu held.
func (m *messages) reportDropped() {
	if m.dropped > 0 {
		const text = "redlock: %d messages were dropped: nobody read them in time\n"
		m.queue = append(m.queue, fmt.Appendf(nil, text, m.dropped))
		m.dropped = 0
	}
}

// write writes the queue until it is empty.
func (m *messages) write() {
	for {
		m.mu.Lock()
		if len(m.queue) == 0 {
			m.reportDropped()
		}
		if len(m.queue) == 0 {
			close(m.idle)
			m.idle = nil
			m.mu.Unlock()
			return
		}
		text := m.queue[0]
		m.queue = m.queue[1:]
		m.mu.Unlock()
		_, _ = m.to.Write(text)
	}
}

// flush returns when everything is written, or after patience.
func (m *messages) flush(patience time.Duration) {
	m.mu.Lock()
	idle := m.idle
	m.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-time.After(patience):
	}
}

// emit writes the output of a command, unless ctx has ended. It returns when out has taken the text, or has failed, or
// when ctx ends: a pipe may have no reader.
func emit(ctx context.Context, out io.Writer, text string) error {
	if ctx.Err() != nil {
		return nil
	}
	written := make(chan error, 1)
	go func() {
		_, err := io.WriteString(out, text)
		written <- err
	}()
	select {
	case err := <-written:
		if err != nil {
			return &exit{exitOutput, fmt.Errorf("the output could not be written: %w", err)}
		}
	case <-ctx.Done():
	}
	return nil
}

// printable escapes what is no text on a terminal, such as control characters in a server's text, some of which move
// the cursor. It keeps line feeds.
func printable(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if valid := r != utf8.RuneError || n > 1; valid && (r == '\n' || unicode.IsPrint(r)) {
			b.WriteString(text[:n])
		} else {
			b.WriteString(strings.Trim(strconv.Quote(text[:n]), `"`))
		}
		text = text[n:]
	}
	return b.String()
}

// inline is printable for text that must stay on its line, such as a cell of a table.
func inline(text string) string { return strings.ReplaceAll(printable(text), "\n", `\n`) }
