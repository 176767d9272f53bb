package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// wrongReplies are no replies, or not those to the commands of a lock.
var wrongReplies = map[string]string{
	"nothing, and the end":     "",
	"an empty line":            "\r\n",
	"a greeting":               "SSH-2.0-OpenSSH_9.2p1\r\n",
	"a page":                   "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
	"zeros":                    strings.Repeat("\x00", 100),
	"an alert of TLS":          "\x15\x03\x01\x00\x02\x02\x46",
	"a huge text":              "$9223372036854775807\r\n",
	"a text above the bound":   "$1048577\r\n" + strings.Repeat("a", 1<<20+1) + "\r\n",
	"a negative text":          "$-2\r\n",
	"a text cut off":           "$10\r\nabc",
	"a text without its end":   "$3\r\nabcdef\r\n",
	"an unending line":         "+" + strings.Repeat("a", 2<<20),
	"an unending error":        "-" + strings.Repeat("a", 2<<20),
	"a huge list":              "*9223372036854775807\r\n",
	"a list above the bound":   "*1048577\r\n" + strings.Repeat(":1\r\n", 1<<18),
	"a negative list":          "*-2\r\n",
	"an empty list":            "*0\r\n",
	"a short list":             "*1\r\n$7\r\nmessage\r\n",
	"a list of wrong types":    "*3\r\n$7\r\nmessage\r\n:1\r\n$1\r\nx\r\n",
	"a subscription of none":   "*3\r\n$9\r\nsubscribe\r\n$-1\r\n:1\r\n",
	"a subscription too many":  strings.Repeat("*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n", 3),
	"nested lists":             strings.Repeat("*1\r\n", 100_000),
	"wide nested lists":        strings.Repeat("*1000\r\n", 1000),
	"an error":                 "-ERR max number of clients reached\r\n",
	"an error of no code":      "-\r\n",
	"a number of no digits":    ":\r\n",
	"a number above the bound": ":9223372036854775808\r\n",
	"a wrong number":           ":-9223372036854775808\r\n",
	"a null":                   "$-1\r\n",
	"a null list":              "*-1\r\n",
	"a push":                   ">2\r\n+message\r\n+x\r\n",
	"a map":                    "%1\r\n+a\r\n+b\r\n",
	"attributes":               "|1\r\n+a\r\n+b\r\n+OK\r\n",
	"a null of RESP3":          "_\r\n",
	"a double":                 ",1.5\r\n",
	"a streamed text":          "$?\r\n;4\r\nabcd\r\n;0\r\n",
	"a chunk too many":         ";4\r\nabcd\r\n",
	"one reply too many":       "+OK\r\n+OK\r\n",
	"replies without end":      strings.Repeat("+OK\r\n", 1<<20),
	"lists without end":        strings.Repeat("*0\r\n", 1<<20),
	"messages of another name": strings.Repeat("*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\ny\r\n", 1<<12),
}

// startWrong starts a master that grants everything, except that it answers one command wrongly, or sends that instead
// of any conversation if command is "". Then it ends the connection once the client has read that, or has had enough of
// it.
func startWrong(t *testing.T, command, wrong string) (addr string) {
	t.Helper()
	return testnet.Serve(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		for command != "" {
			args, err := resp.ReadCommand(in)
			if err != nil {
				return
			}
			if strings.EqualFold(args[0], command) {
				break
			}
			if _, err := io.WriteString(c, rightReply(args)); err != nil {
				return
			}
		}
		_, _ = io.WriteString(c, wrong)
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, in)
	})
}

// rightReply returns the reply of a master that grants everything.
func rightReply(args []string) string {
	switch strings.ToLower(args[0]) {
	case "hello":
		return "-ERR unknown command 'hello'\r\n"
	case "ping":
		return "+PONG\r\n"
	case "info":
		const info = "run_id:abc\r\nuptime_in_seconds:100000\r\nrole:master\r\n"
		return fmt.Sprintf("$%d\r\n%s\r\n", len(info), info)
	case "evalsha":
		if strings.HasPrefix(args[1], "0000") {
			return "-NOSCRIPT No matching script.\r\n"
		}
		return ":1\r\n"
	case "subscribe":
		return "*3\r\n$9\r\nsubscribe\r\n$10\r\nreleased:a\r\n:1\r\n"
	default:
		return "+OK\r\n"
	}
}

// Whatever a server answers at whatever position, it cannot end the process, no call is granted but those that it
// granted before, each call has its vote, and the memory that it takes is bounded.
func TestAServerThatAnswersWrongly(t *testing.T) {
	const mostMemory = 64 << 20 // of all that is allocated for a case, garbage too
	for _, command := range []string{"", "auth", "select", "client", "info", "evalsha", "set", "subscribe"} {
		for name, wrong := range wrongReplies {
			t.Run(command+", "+name, func(t *testing.T) {
				r := newRig(t, nil, "redis://me:hunter2@"+startWrong(t, command, wrong)+"/3?client_name=me")
				r.slack = patient
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				l := r.listen("released:a")
				v := r.ask(acquire("a", "me"), within(patient)).result()
				switch {
				case command == "subscribe":
					assert.Equal(t, wire.Granted, v.Verdict, "%v", v.Err)
				case v.Verdict == wire.Granted:
					assert.True(t, command == "evalsha" || strings.HasPrefix(wrong, "+OK\r\n"))
				case command == "set" && strings.HasPrefix(wrong, "-"):
					require.Error(t, v.Err)
				case command == "set" && strings.Contains(wrong[:min(3, len(wrong))], "-1"): // a null: somebody holds it
					assert.Equal(t, wire.Denied, v.Verdict)
				default:
					require.Error(t, v.Err)
					assert.NotContains(t, v.Err.Error(), "hunter2")
					if command != "set" || name != "a text above the bound" { // which harms its own call alone
						assert.NotEmpty(t, r.healthReports())
					}
				}
				l.stop()
				c := r.node.Connect()
				if _, err := c.Do(t.Context(), "info", "all"); err != nil {
					assert.NotContains(t, err.Error(), "hunter2")
				}
				c.Close()
				runtime.ReadMemStats(&after)
				assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(mostMemory))
			})
		}
	}
}

// With Wrap go-redis reads the replies, and panics at some of them.
func TestAWrappedServerThatAnswersWrongly(t *testing.T) {
	for _, command := range []string{"", "info", "evalsha", "ping", "set", "subscribe"} {
		for name, wrong := range wrongReplies {
			t.Run(command+", "+name, func(t *testing.T) {
				client := redis.NewClient(&redis.Options{
					Addr: startWrong(t, command, wrong), MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
					ReadTimeout: time.Second,
				})
				r := newWrappedRig(t, client)
				l := r.listen("released:a")
				v := r.ask(acquire("a", "me"), within(patient)).result()
				if v.Verdict == wire.Granted {
					assert.True(t, command == "evalsha" || command == "subscribe" || strings.Contains(wrong, "+OK\r\n") ||
						command == "info" && strings.HasPrefix(wrong, "-"))
				} else if v.Verdict != wire.Denied {
					require.Error(t, v.Err)
				}
				l.stop()
				c := r.node.Connect()
				_, _ = c.Do(t.Context(), "info", "all")
				_ = c.Subscribe(t.Context(), "released:a")
				c.Close()
			})
		}
	}
}

// A client that panics each time costs few connections, and one line in the log.
func TestAWrappedClientThatPanics(t *testing.T) {
	t.Parallel()
	for name, adjust := range map[string]func(*redis.Options){
		"with one pool":             func(o *redis.Options) { o.PipelinePoolSize = -1 },
		"with a pool for pipelines": func(o *redis.Options) { o.PipelinePoolSize = 5 },
	} {
		t.Run(name, func(t *testing.T) {
			inBubbleWrappedAs(t, adjust, func(t *testing.T, r *rig) {
				r.m.Delay(time.Millisecond, 0)
				r.warm()
				var panics atomic.Int64
				on := true
				r.client.AddHook(panicking(func(cmds []redis.Cmder) {
					if on && strings.HasPrefix(fmt.Sprint(cmds[len(cmds)-1].Args()), "[set") {
						panics.Add(1)
						panic("a reply of a wrong shape")
					}
				}))
				for range 1000 {
					v := r.ask(acquire("a", "me")).result()
					require.NotEqual(t, wire.Granted, v.Verdict)
					if !v.Unsent {
						assert.Equal(t, wire.Unknown, v.Verdict, "it may have been sent")
					}
					require.ErrorContains(t, v.Err, "panicked: a reply of a wrong shape")
					time.Sleep(10 * time.Millisecond)
				}
				assert.Less(t, panics.Load(), int64(40), "in ten seconds")
				assert.Equal(t, []string{"suspect"}, r.healthReports())
				on = false
				r.answers(time.Second, "b")
			})
		})
	}
}

// panicking is a hook that runs before each batch.
type panicking func(cmds []redis.Cmder)

func (panicking) DialHook(next redis.DialHook) redis.DialHook { return next }

func (panicking) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (p panicking) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		p(cmds)
		return next(ctx, cmds)
	}
}

// FuzzServer checks that whatever a server sends over its connections, no call is granted whose reply it did not send,
// each call has its vote, and nothing panics.
func FuzzServer(f *testing.F) {
	const begun = "$40\r\nrun_id:abc\r\nuptime_in_seconds:100000\r\n\r\n-NOSCRIPT No matching script.\r\n"
	for _, wrong := range wrongReplies {
		wrong = wrong[:min(len(wrong), 200)]
		f.Add([]byte(wrong))
		f.Add([]byte(begun + wrong))
		f.Add([]byte("*3\r\n$9\r\nsubscribe\r\n$10\r\nreleased:a\r\n:1\r\n" + wrong))
	}
	f.Add([]byte(begun + "+OK\r\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		over := new(sync.WaitGroup)
		t.Cleanup(over.Wait) // after the cleanup of bind: the listener may dial until then
		r := newRig(t, nil, "redis://10.0.0.1", node.WithDialer(func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			over.Go(func() { _, _ = io.Copy(io.Discard, server) })
			over.Go(func() {
				_, _ = server.Write(said)
				_ = server.Close()
			})
			return client, nil
		}))
		r.slack = patient
		l := r.listen("released:a")
		v := r.ask(acquire("a", "me"), within(patient)).result()
		assert.True(t, v.Verdict != wire.Granted || bytes.Contains(said, []byte("OK\r\n")))
		assert.Equal(t, v.Verdict.Answered(), v.Err == nil)
		l.stop()
		r.node.Close(time.Now())
	})
}

// A reply that is too large to keep harms its own call only.
func TestALargeReplyHarmsItsOwnCallOnly(t *testing.T) {
	const size = 5 << 20
	inEmptyBubbles(t, map[string]string{
		"a text":    fmt.Sprintf("$%d\r\n%s\r\n", size, strings.Repeat("a", size)),
		"a status":  "+" + strings.Repeat("a", size) + "\r\n",
		"an error":  "-ERR " + strings.Repeat("a", size) + "\r\n",
		"an array":  fmt.Sprintf("*%d\r\n", size/4) + strings.Repeat(":1\r\n", size/4),
		"two texts": fmt.Sprintf("*2\r\n$%[1]d\r\n%[2]s\r\n$%[1]d\r\n%[2]s\r\n", size, strings.Repeat("\r\n", size/2)),
	}, func(t *testing.T, large string) {
		srv := &testnet.Scripted{Answer: func(args []string) (string, bool) {
			if args[0] == "large" {
				return large, false
			}
			return "+OK\r\n", false
		}}
		r := newRig(t, nil, "redis://10.0.0.1", node.WithDialer(srv.Dial))
		for range 3 {
			before := r.ask(acquire("a", "a"))
			asked := r.ask(wire.Command("large", wire.ReadNumber, "large"))
			after := r.ask(acquire("b", "b"))
			assert.Equal(t, wire.Granted, before.result().Verdict)
			v := asked.result()
			assert.False(t, v.Verdict.Answered(), "%v", v)
			if !strings.HasPrefix(large, "-") {
				assert.Equal(t, wire.Unknown, v.Verdict, "it may have been executed")
				assert.ErrorContains(t, v.Err, "more than 1024 KiB")
			}
			assert.Equal(t, wire.Granted, after.result().Verdict)
		}
		assert.Equal(t, int64(1+comparing), srv.Dials.Load(), "the connection goes on")
	})
}
