package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gate is an output that takes nothing until it is open.
type gate struct {
	open chan struct{}
	text strings.Builder
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.text.Write(p)
}

func TestMessagesNeverWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		m := &messages{to: g}
		began := time.Now()
		for n := range maxMessages + 4 {
			m.say(fmt.Sprintf("message %d", n))
			synctest.Wait() // the first is taken from the queue
		}
		assert.Zero(t, time.Since(began), "nobody reads them")
		m.flush(time.Second)
		assert.Equal(t, time.Second, time.Since(began), "flush gives up")
		close(g.open)
		m.flush(time.Hour)
		assert.Equal(t, time.Second, time.Since(began), "flush returns when everything is written")
		said := strings.Split(strings.TrimSpace(g.text.String()), "\n")
		require.Len(t, said, maxMessages+2)
		assert.Equal(t, "message 0", said[0])
		assert.Equal(t, fmt.Sprintf("message %d", maxMessages), said[maxMessages])
		assert.Equal(t, "redlock: 3 messages were dropped: nobody read them in time", said[maxMessages+1])
		m.say("later")
		m.flush(time.Hour)
		assert.True(t, strings.HasSuffix(g.text.String(), "in time\nlater\n"), "they are written as before")
	})
}

func TestMessagesToAClosedOutputAreForgotten(t *testing.T) {
	t.Parallel()
	_, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, w.Close())
	m := &messages{to: w}
	m.say("nobody hears it")
	m.flush(time.Hour)
}

func TestOutputIsGivenUpWhenItsCommandIsInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		require.NoError(t, emit(ctx, g, "text"))
		assert.Equal(t, time.Minute, time.Since(began))
		close(g.open)
		synctest.Wait()
		require.NoError(t, emit(ctx, g, "more"))
		assert.Equal(t, "text", g.text.String(), "nothing is begun after the end")
	})
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        "",
		"plain, ä “quoted”\nnext": "plain, ä “quoted”\nnext",
		"\x1b[2J\r\a\t\x00\x7f":   `\x1b[2J\r\a\t\x00\x7f`,
		"\u009b2J":                `\u009b2J`, // the same as ESC [ on some terminals
		"\x9b2J\xff":              `\x9b2J\xff`,
		"abc\u202ecba":            `abc\u202ecba`, // it reverses what follows
		"\u2028":                  `\u2028`,
		"\ufffd":                  "\ufffd",
	} {
		assert.Equal(t, want, printable(text), "%q", text)
	}
	assert.Equal(t, `a\nb\x1b`, inline("a\nb\x1b"))
}
