package resp_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/resp"
)

// buffered returns a reader with the buffer size of a session.
func buffered(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, 16<<10) }

// readReply reads one reply as a connection for requests does.
func readReply(in *bufio.Reader) (any, error) {
	v, _, err := resp.Read(in, resp.MaxReply)
	return v, err
}

func isProtocolError(err error) bool { return errors.Is(err, resp.ErrProtocol) }

// readAll reads replies until the first error.
func readAll(r io.Reader) (all []any, err error) {
	all = []any{}
	for in := buffered(r); ; {
		v, err := readReply(in)
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
}

func cutShort(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

var replies = []string{
	"+OK\r\n", "+\r\n", ":1\r\n", ":-0\r\n", ":9223372036854775807\r\n", "$-1\r\n", "*-1\r\n", "$0\r\n\r\n",
	"$4\r\na\r\nb\r\n",
	"*0\r\n", "*3\r\n:0\r\n$5\r\nmutex\r\n:-1\r\n", "*2\r\n-ERR inside\r\n*1\r\n$-1\r\n",
	"-NOSCRIPT No matching script. Please use EVAL.\r\n", "-READONLY You can't write against a read only replica.\r\n",
	"-\r\n",
	"+" + strings.Repeat("a", 20<<10) + "\r\n", "-" + strings.Repeat("a", 20<<10) + "\r\n:1\r\n",
	"+OK\r\n:1\r\n$-1\r\n", strings.Repeat("*1\r\n", 8) + ":1\r\n",
}

var noReplies = []string{
	"\r\n", "\n", "+\n", "+ab\n", ":\r\n", ":x\r\n", ":9223372036854775808\r\n", "$-2\r\n", "*-2\r\n", "%1\r\n",
	"%-1\r\n", "_\r\n", "$1\r\nab\r\n", "$1\r\na\n\n", "$1\r\nax\n", "$1\r\na\rx", strings.Repeat("*1\r\n", 9) + ":1\r\n",
	"*1\r\n%1\r\n", "*65536\r\n%1\r\n", "$2147483648\r\n", "$536870912\r\nabc", "*536870912\r\n:1\r\n",
	"*9223372036854775807\r\n", "$9223372036854775807\r\n", strings.Repeat("*1000\r\n", 20),
}

// FuzzReadReply checks that reading arbitrary bytes neither panics nor allocates out of proportion, that a prefix of
// the bytes yields the same replies as far as it goes, and that go-redis reads the same.
func FuzzReadReply(f *testing.F) {
	for _, s := range append(replies, noReplies...) {
		f.Add([]byte(s), uint16(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, at uint16) {
		before := allocated()
		all, err := readAll(bytes.NewReader(data))
		require.Less(t, allocated()-before, uint64(1<<20+64*len(data)))
		require.True(t, cutShort(err) || isProtocolError(err), "%v", err)

		bytewise, err2 := readAll(iotest.OneByteReader(bytes.NewReader(data)))
		require.Equal(t, all, bytewise)
		require.Equal(t, isProtocolError(err), isProtocolError(err2))
		cut := int(at) % (len(data) + 1)
		halves, err3 := readAll(io.MultiReader(bytes.NewReader(data[:cut]), bytes.NewReader(data[cut:])))
		require.Equal(t, all, halves)
		require.Equal(t, isProtocolError(err), isProtocolError(err3))

		part, err := readAll(bytes.NewReader(data[:cut]))
		require.LessOrEqual(t, len(part), len(all))
		require.Equal(t, all[:len(part)], part)
		if len(part) < len(all) {
			require.True(t, cutShort(err), "a part of a reply is no error: %v", err)
		}
		if len(all) > 0 {
			require.Equal(t, plain(all[0]), short(byGoRedis(t, data)))
		}
	})
}

// short returns a reply with its errors truncated as a session truncates them.
func short(v any) any {
	switch v := v.(type) {
	case refusal:
		if len(v) > resp.MaxError {
			return v[:resp.MaxError] + "…"
		}
	case []any:
		for i := range v {
			v[i] = short(v[i])
		}
	}
	return v
}

// A claimed length costs no memory before the data arrives. A length above the bound ends the connection before that.
func TestLengthsAreNotTrusted(t *testing.T) {
	for s, within := range map[string]bool{
		"$1000000\r\nabc": true, "$1048576\r\nabc": true, "$67108864\r\nabc": true, "$67108865\r\n": false,
		"$536870912\r\n": false, "*65000\r\n:1\r\n": true, "*65536\r\n:1\r\n": true, "*16777217\r\n": false,
		"*536870912\r\n": false, "*30000\r\n*30000\r\n*30000\r\n": true, strings.Repeat("*5000\r\n", 8): true,
	} {
		in, out := io.Pipe()
		go func() {
			_, _ = io.WriteString(out, s)
			if within {
				_ = out.Close()
			}
		}()
		before := allocated()
		_, err := readReply(buffered(in))
		assert.Less(t, allocated()-before, uint64(1<<20), "%.20q", s)
		assert.Equal(t, within, cutShort(err), "%.20q: %v", s, err)
		assert.Equal(t, !within, isProtocolError(err), "%.20q: %v", s, err)
	}
	endless := strings.NewReader(strings.Repeat("x", 4*resp.MaxReply))
	_, err := readReply(buffered(endless))
	assert.True(t, isProtocolError(err), "%v", err)
	assert.Greater(t, endless.Len(), 2*resp.MaxReply, "reading a line without an end stops at the bound")
}

// A reply of any type is kept up to its bound. A larger one is read, so that the replies behind it are.
func TestTheBoundOfAReply(t *testing.T) {
	for name, part := range map[string]string{
		"a string": "", "errors": "-ERR abc\r\n", "nested": "*2\r\n:1\r\n+a\r\n", "numbers": ":1\r\n", "nulls": "$-1\r\n",
		"texts": "$5\r\nabcde\r\n", "empty arrays": "*0\r\n",
	} {
		make := func(size int) string {
			if part == "" {
				return fmt.Sprintf("$%d\r\n%s\r\n", size, strings.Repeat("a", size))
			}
			n := size / (len(part) + 16)
			return fmt.Sprintf("*%d\r\n%s", n, strings.Repeat(part, n))
		}
		before := allocated()
		_, err := readReply(buffered(strings.NewReader(make(resp.MaxReply - 100))))
		require.NoError(t, err, name)
		for _, size := range []int{2 * resp.MaxReply, 20 * resp.MaxReply} {
			all, err := readAll(strings.NewReader(make(size) + ":7\r\n"))
			require.ErrorIs(t, err, io.EOF, name)
			assert.Equal(t, []any{resp.Oversized{}, int64(7)}, all, name)
		}
		assert.Less(t, allocated()-before, uint64(200*resp.MaxReply), name)
	}
}

func TestWhatIsNoReply(t *testing.T) {
	t.Parallel()
	for _, s := range append(noReplies, "$1048576\r\n"+strings.Repeat("a", 1<<20)+"ab") {
		v, err := readReply(buffered(strings.NewReader(s)))
		assert.True(t, isProtocolError(err), "%.20q: %v", s, err)
		assert.Nil(t, v)
	}
}

func TestTheFieldsOfINFO(t *testing.T) {
	t.Parallel()
	want := map[string]string{"run_id": "abc", "role": "", "a": "b:c"}
	assert.Equal(t, want, resp.ParseInfo("# Server\r\nrun_id:abc\r\n\r\nrole:\r\na:b:c\nno field\r\n"))
}

// Any part of a reply is no reply yet.
func TestWhetherAReplyHasArrived(t *testing.T) {
	t.Parallel()
	for _, whole := range []string{
		"+OK\r\n", ":1\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "$0\r\n\r\n", "$2\r\nab\r\n", "$2\r\n\r\n\r\n", "-ERR\r\n",
		"*2\r\n*0\r\n$0\r\n\r\n", "*2\r\n*1\r\n$1\r\na\r\n:1\r\n", "*3\r\n$-1\r\n+\r\n*1\r\n-ERR\r\n",
	} {
		assert.True(t, resp.BeginsWithReply([]byte(whole)), "%q", whole)
		for i := range len(whole) {
			assert.False(t, resp.BeginsWithReply([]byte(whole[:i])), "%q", whole[:i])
			assert.True(t, resp.BeginsWithReply([]byte(whole+whole[:i])), "%q", whole+whole[:i])
		}
	}
	v, err := readReply(buffered(strings.NewReader("$2000000\r\nabc")))
	require.ErrorIs(t, err, io.EOF)
	assert.Nil(t, v, "a part of an oversized one")
}

func TestTheBoundOfAReplyIsExact(t *testing.T) {
	t.Parallel()
	status := func(n int) string { return "+" + strings.Repeat("a", n-3) + "\r\n" }
	bulk := func(n int) string { return fmt.Sprintf("$%d\r\n%s\r\n", n, strings.Repeat("a", n)) }
	for name, tt := range map[string]struct {
		wire string
		ok   bool
	}{
		"a line":                       {status(resp.MaxReply), true},
		"a line, one byte more":        {status(resp.MaxReply + 1), false},
		"a text":                       {bulk(resp.MaxReply - 12), true},
		"a text, one byte more":        {bulk(resp.MaxReply - 11), false},
		"two lines":                    {"*2\r\n" + status(500_000) + status(500_000), true},
		"three lines":                  {"*3\r\n" + strings.Repeat(status(500_000), 3), false},
		"two texts":                    {"*2\r\n" + bulk(500_000) + bulk(500_000), true},
		"three texts":                  {"*3\r\n" + strings.Repeat(bulk(500_000), 3), false},
		"an array that fills it":       {"*2\r\n" + bulk(500_000) + bulk(548_518), true},
		"an array, and one byte more":  {"*2\r\n" + bulk(500_000) + bulk(548_519), false},
		"an empty array at its end":    {"*2\r\n" + bulk(1_048_520) + "*0\r\n", true},
		"a line that fills it":         {"*2\r\n" + bulk(1_048_000) + status(528), true},
		"a line of one byte too many":  {"*2\r\n" + bulk(1_048_000) + status(529), false},
		"an array of too many at once": {"*65536\r\n" + strings.Repeat(":1\r\n", 65536), false},
	} {
		v, err := readReply(buffered(strings.NewReader(tt.wire)))
		require.NoError(t, err, name)
		assert.Equal(t, !tt.ok, v == any(resp.Oversized{}), name)
	}
	for text, want := range map[string]int{
		"+OK\r\n": 5, ":1\r\n": 4, "$2\r\nab\r\n": 8, "$-1\r\n": 5, "*2\r\n:1\r\n*0\r\n": 4 + 2*16 + 8,
	} {
		_, size, err := resp.Read(buffered(strings.NewReader(text)), resp.MaxReply)
		require.NoError(t, err)
		assert.Equal(t, want, size, "%q", text)
	}
	for _, text := range []string{"*65535\r\n", "*16777216\r\n", "$2000000\r\n" + strings.Repeat("a", 2_000_000) + "\r"} {
		v, err := readReply(buffered(strings.NewReader(text)))
		assert.True(t, cutShort(err), "%.20q: %v", text, err)
		assert.Nil(t, v)
	}
}

// A long string is returned whole. A server may quote a long key in an error. What follows on the connection is the
// reply to another call.
func TestALongErrorIsReadWholeAndKeptInPart(t *testing.T) {
	for _, n := range []int{
		1, resp.MaxError, resp.MaxError + 1, 16<<10 - 3, 16<<10 - 2, 16<<10 - 1, 16 << 10, 17000, 32<<10 - 2, 32 << 10,
		900_000, 1 << 20, 5 << 20,
	} {
		text := strings.Repeat("0123456789", n/10+1)[:n]
		if n < 1<<20 {
			v, err := readReply(buffered(strings.NewReader(fmt.Sprintf("$%d\r\n%s\r\n", n, text))))
			require.NoError(t, err, n)
			assert.True(t, v == text, n)
		}
		all, err := readAll(strings.NewReader("-" + text + "\r\n:1\r\n"))
		require.ErrorIs(t, err, io.EOF)
		require.Len(t, all, 2, n)
		assert.Equal(t, short(refusal(text)), plain(all[0]), n)
		assert.Equal(t, int64(1), all[1])
	}
	_, err := readAll(strings.NewReader("-" + strings.Repeat("a", 65<<20)))
	require.ErrorIs(t, err, resp.ErrTooLarge)
	assert.True(t, isProtocolError(err), "%v", err)
	_, err = readAll(strings.NewReader("-" + strings.Repeat("a", 100_000)))
	assert.True(t, cutShort(err), "%v", err)
}

// FuzzReplyTree checks that a reply written according to the protocol is read back unchanged.
func FuzzReplyTree(f *testing.F) {
	for i := range 32 {
		f.Add(bytes.Repeat([]byte{byte(i), byte(7 * i), 3, 9, 1}, i))
	}
	f.Fuzz(func(t *testing.T, seed []byte) {
		want, wire := grow(&seed, 0)
		all, err := readAll(bytes.NewReader(wire))
		require.ErrorIs(t, err, io.EOF)
		require.Len(t, all, 1)
		require.Equal(t, want, plain(all[0]))
		require.Equal(t, want, byGoRedis(t, wire)) // no text of these is long
	})
}

// grow returns a reply made from random bytes, and its encoding.
func grow(seed *[]byte, depth int) (value any, wire []byte) {
	next := func() byte {
		if len(*seed) == 0 {
			return 0
		}
		b := (*seed)[0]
		*seed = (*seed)[1:]
		return b
	}
	text := func() string {
		n := min(int(next()), len(*seed))
		s := string((*seed)[:n])
		*seed = (*seed)[n:]
		return s
	}
	line := strings.NewReplacer("\r", "r", "\n", "n")
	switch next() % 6 {
	case 0:
		n := int64(int8(next())) << (next() % 56)
		return n, fmt.Appendf(nil, ":%d\r\n", n)
	case 1:
		s := line.Replace(text())
		return s, fmt.Appendf(nil, "+%s\r\n", s)
	case 2:
		s := "ERR " + line.Replace(text())
		return refusal(s), fmt.Appendf(nil, "-%s\r\n", s)
	case 3:
		return nil, fmt.Appendf(nil, "%c-1\r\n", "$*"[next()%2])
	case 4:
		if depth == 7 {
			return int64(1), []byte(":1\r\n")
		}
		list := make([]any, next()%8)
		wire := fmt.Appendf(nil, "*%d\r\n", len(list))
		for i := range list {
			var w []byte
			list[i], w = grow(seed, depth+1)
			wire = append(wire, w...)
		}
		return list, wire
	default:
		s := text()
		return s, fmt.Appendf(nil, "$%d\r\n%s\r\n", len(s), s)
	}
}

// FuzzCommand checks that an encoded command is decoded into its arguments, as an array of strings, as a server reads
// it, and does not outgrow its upper bound.
func FuzzCommand(f *testing.F) {
	f.Add("set", "a", []byte("me"), int64(-1))
	f.Add("", "\r\n$3\r\n", []byte{0, 255}, int64(math.MinInt64))
	f.Add("set", strings.Repeat("x", 99_999), bytes.Repeat([]byte("x"), 99_999), int64(1)<<62)
	f.Fuzz(func(t *testing.T, command, key string, value []byte, n int64) {
		args := []any{command, key, value, n, int(n)}
		for _, a := range args {
			same := slices.Repeat([]any{a}, 10)
			require.LessOrEqual(t, len(resp.AppendCommand(nil, same)), resp.Size(same), "%T", a)
		}
		encoded := resp.AppendCommand(nil, args)
		words := []string{command, key, string(value), fmt.Sprint(n), fmt.Sprint(n)}
		want := []any{words[0], words[1], words[2], words[3], words[4]}
		require.Equal(t, [][]any{want, want}, resp.Commands(bytes.Repeat(encoded, 2)))
		all, err := readAll(bytes.NewReader(encoded))
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, []any{want}, all)
		got, err := resp.ReadCommand(bufio.NewReader(bytes.NewReader(encoded)))
		require.NoError(t, err)
		require.Equal(t, words, got)
	})
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// refusal is an error reply, as any client returns it.
type refusal string

// plain returns a reply without the types of the client that read it.
func plain(v any) any {
	switch v := v.(type) {
	case error:
		return refusal(v.Error())
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plain(v[i])
		}
		return list
	}
	return v
}

// byGoRedis returns the first reply that go-redis reads.
func byGoRedis(t *testing.T, data []byte) any {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			pipe, _ := net.Pipe()
			return &tape{Conn: pipe, data: data}, nil
		},
		Protocol: 2, MaxRetries: -1, DisableIdentity: true, PoolSize: 1,
	})
	defer c.Close()
	v, err := c.Do(context.Background(), "x").Result()
	var reply redis.Error
	switch {
	case errors.Is(err, redis.Nil):
		return nil
	case errors.As(err, &reply):
		return plain(err)
	}
	require.NoError(t, err)
	return plain(v)
}

// tape is a connection that answers the handshake with an error and everything else with its data.
type tape struct {
	net.Conn // for everything else
	data     []byte
	due      []byte
}

func (c *tape) Write(b []byte) (int, error) {
	if bytes.Contains(bytes.ToLower(b), []byte("hello")) {
		c.due = []byte("-ERR unknown command\r\n")
	} else {
		c.due = c.data
	}
	return len(b), nil
}

func (c *tape) Read(b []byte) (int, error) {
	if len(c.due) == 0 {
		return 0, io.EOF
	}
	n := copy(b, c.due)
	c.due = c.due[n:]
	return n, nil
}

// repeating is an endless text.
type repeating string

func (r repeating) Read(p []byte) (n int, _ error) {
	for n < len(p) {
		n += copy(p[n:], r)
	}
	return n, nil
}

// A reply takes memory, garbage too, in proportion to its bound, whatever it consists of.
func TestTheMemoryOfOneReply(t *testing.T) {
	const most = 8 * resp.MaxReply
	for _, unit := range []string{
		"*0\r\n", "*1\r\n", "*-1\r\n", "*2\r\n:1\r\n", "*1000\r\n:256\r\n", "$0\r\n\r\n", "$1\r\na\r\n", "+\r\n", "+a\r\n",
		"-\r\n", ":1000\r\n", "$100000\r\n", "+" + strings.Repeat("a", 1000), "-" + strings.Repeat("a", 1000),
	} {
		for _, head := range []string{"", "*60000\r\n", "*20000\r\n", "$1048000\r\n", strings.Repeat("*1000\r\n", 7)} {
			before := allocated()
			_, _ = readReply(buffered(io.MultiReader(strings.NewReader(head), repeating(unit))))
			assert.Less(t, allocated()-before, uint64(most), "%.20q, %.20q", head, unit)
		}
	}
}
