package wire_test

import (
	"bufio"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/internal/wire"
)

// loopback starts a server that answers a lock's commands at once and executes nothing.
func loopback(b *testing.B) (url string) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	var serving errgroup.Group
	serving.Go(func() error {
		for {
			c, err := l.Accept()
			if err != nil {
				return nil
			}
			serving.Go(func() error { return obey(c) })
		}
	})
	b.Cleanup(func() {
		_ = l.Close()
		_ = serving.Wait()
	})
	return "redis://" + l.Addr().String()
}

// obey answers until the connection ends. It answers a batch with one write.
func obey(c net.Conn) error {
	defer c.Close()
	in, out := bufio.NewReaderSize(c, 64<<10), bufio.NewWriterSize(c, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return nil
		}
		args := int(line[1] - '0') // fewer than ten
		command := ""
		for i := range args {
			size, err := in.ReadSlice('\n')
			if err != nil {
				return nil
			}
			n := 0
			for _, d := range size[1 : len(size)-2] {
				n = 10*n + int(d-'0')
			}
			if i == 0 {
				word, err := in.Peek(n)
				if err != nil {
					return nil
				}
				command = name(word)
			}
			if _, err := in.Discard(n + 2); err != nil {
				return nil
			}
		}
		_, _ = out.WriteString(answers[command])
		if in.Buffered() == 0 {
			_ = out.Flush()
		}
	}
}

const who = "run_id:abc\r\nuptime_in_seconds:100000\r\n"

var answers = map[string]string{
	"":        "-ERR unknown command\r\n",
	"info":    "$38\r\n" + who + "\r\n",
	"set":     "+OK\r\n",
	"evalsha": ":1\r\n",
}

func name(word []byte) string {
	for known := range answers {
		if strings.EqualFold(known, string(word)) {
			return known
		}
	}
	return ""
}

// caller submits one call after the other.
type caller struct {
	node  *wire.Node
	voted chan wire.Vote
}

func (a *caller) Vote(_ int, v wire.Vote) { a.voted <- v }

func (a *caller) ask(op *wire.Op) wire.Vote {
	now := time.Now()
	a.node.Submit(&wire.Call{Request: &wire.Request{Op: op, Asked: now, Deadline: now.Add(time.Minute)}, Voter: a})
	return <-a.voted
}

func benched(b *testing.B) *wire.Node {
	b.Helper()
	n, err := open(loopback(b))
	require.NoError(b, err)
	var group errgroup.Group
	require.NoError(b, n.Bind(group.Go, func(error) {}))
	b.Cleanup(func() {
		n.Close(time.Now().Add(time.Second))
		require.NoError(b, group.Wait())
	})
	a := &caller{node: n, voted: make(chan wire.Vote, 1)}
	require.Equal(b, wire.Granted, a.ask(acquire("a", "me")).Verdict)
	return n
}

// BenchmarkPipe measures one call and its reply, for one caller and for many.
func BenchmarkPipe(b *testing.B) {
	for name, callers := range map[string]int{"1 caller": 1, "64 callers": 64, "512 callers": 512} {
		b.Run(name, func(b *testing.B) {
			n, op := benched(b), acquire("a", "me")
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ReportAllocs()
			b.ResetTimer()
			var all errgroup.Group
			for range callers {
				all.Go(func() error {
					a := &caller{node: n, voted: make(chan wire.Vote, 1)}
					for left.Add(-1) >= 0 {
						if v := a.ask(op); v.Verdict != wire.Granted {
							return v.Err
						}
					}
					return nil
				})
			}
			require.NoError(b, all.Wait())
		})
	}
}

// BenchmarkEncode measures the encoding of one lock and unlock, which all nodes share.
func BenchmarkEncode(b *testing.B) {
	b.Run("command", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			acquire("orders:42", "host:4711:0123456789abcdef0123456789abcdef")
		}
	})
	b.Run("script", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			release("orders:42", "host:4711:0123456789abcdef0123456789abcdef")
		}
	})
}
