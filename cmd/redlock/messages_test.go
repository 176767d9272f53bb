package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
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

// broken is an output that takes nothing, and keeps what it was offered.
type broken struct{ offered []string }

func (b *broken) Write(p []byte) (int, error) {
	b.offered = append(b.offered, string(p))
	return 0, os.ErrClosed
}

func TestAMessageThatCannotBeWrittenIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &broken{}
		m := &messages{to: b}
		began := time.Now()
		m.say("first")
		m.say("second")
		m.flush(time.Hour)
		assert.Zero(t, time.Since(began))
		assert.Equal(t, []string{"first\n", "second\n"}, b.offered)
	})
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

// Each number of a Holding is in its place.
func TestTheTableOfALock(t *testing.T) {
	t.Parallel()
	permit := func(owner string, slot, votes int, left time.Duration) redlock.Holder {
		return redlock.Holder{
			Token: owner + ":0123456789abcdef0123456789abcdef", Slot: slot, Votes: votes, Left: left,
		}
	}
	one, two, three := permit("one", 4, 3, 9*time.Second), permit("two", 2, 2, 85*time.Microsecond), permit("3", 1, 1, -1)
	var out bytes.Buffer
	locksReport{Locks: []lockReport{
		reportLock(redlock.Holding{
			Name: "uploads", Kind: "semaphore", Slots: 8, Depth: 1, Fence: 77, Others: 5, Holders: []redlock.Holder{one, two},
			Nodes: []redlock.NodeHolding{
				{Node: "a:1", Kind: "semaphore", Token: one.Token, Left: one.Left, Holders: []redlock.Holder{one, two}},
				{Node: "a:2", Kind: "semaphore", Holders: []redlock.Holder{one, two, three}, Fence: 78},
				{Node: "a:3", Kind: "semaphore", Holders: []redlock.Holder{one, two}, Others: 6},
				{Node: "a:4"},
			},
		}, nil),
		reportLock(redlock.Holding{
			Name: "nested", Kind: "reentrant", Depth: 2, Holders: []redlock.Holder{permit("me", 0, 2, time.Minute)},
			Nodes: []redlock.NodeHolding{{Node: "a:1", Kind: "reentrant", Holders: []redlock.Holder{one, two, three, one}}},
		}, nil),
		reportLock(redlock.Holding{Name: "free"}, nil),
		reportLock(redlock.Holding{Name: "changing", Nodes: []redlock.NodeHolding{
			{Node: "a:1", Kind: "mutex", Holders: []redlock.Holder{one}},
		}}, nil),
	}}.print(&out)
	assert.Equal(t, `uploads: held by one (semaphore, slot 4 of 8), 9.0s left, 3 of 4 votes, token `+one.Token+`
uploads: held by two (semaphore, slot 2 of 8), 0.085ms left, 2 of 4 votes, token `+two.Token+`
uploads: the last fencing token was 77
uploads: and 5 others
  a:1  semaphore  one 9.0s left, two 0.085ms left
  a:2  semaphore  one 9.0s left, two 0.085ms left, 3 no end (token `+three.Token+`)  last fence 78
  a:3  semaphore  one 9.0s left, two 0.085ms left and 5 more
  a:4  free

nested: held by me (reentrant, depth 2), 1m left, 2 of 1 votes, token me:0123456789abcdef0123456789abcdef
  a:1  reentrant  one 9.0s left (token `+one.Token+`), two 0.085ms left (token `+two.Token+`), 3 no end (token `+
		three.Token+`) and 1 more

free: free

changing: free or changing hands, no token has a majority
  a:1  mutex  one 9.0s left (token `+one.Token+`)
`, out.String())
}
