package link

import (
	"crypto/tls"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/resp"
)

// The socket of an idle connection is checked, below TLS, and whatever its read deadline is.
func TestTheStateOfAnIdleSession(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	for name, end := range map[string]func(server, client net.Conn){
		"data":               func(server, _ net.Conn) { _, _ = server.Write([]byte("x")) },
		"closed by a server": func(server, _ net.Conn) { _ = server.Close() },
		"closed":             func(_, client net.Conn) { _ = client.Close() },
	} {
		for _, secure := range []bool{false, true} {
			client, err := net.Dial("tcp", l.Addr().String())
			require.NoError(t, err)
			server, err := l.Accept()
			require.NoError(t, err)
			s := newSession(client, Server{})
			if secure {
				s = newSession(tls.Client(client, &tls.Config{}), Server{})
			}
			require.NoError(t, client.SetReadDeadline(time.Now().Add(-time.Second)))
			s.used = time.Now().Add(-2 * idleAfter)
			require.Equal(t, Usable, s.State(), name)
			assert.Greater(t, time.Until(s.readBy), maxSilence/2)
			end(server, client)
			assert.Eventually(t, func() bool { return s.State() == Ended }, time.Minute, time.Millisecond, name)
			s.used = time.Now()
			assert.Equal(t, Usable, s.State(), "it was just used")
			s.replace.Store(true)
			assert.Equal(t, Ended, s.State())
			_, _ = client.Close(), server.Close()
		}
	}
}

// deadlined is a connection that swallows what is written, replies to every read, and records its deadlines.
type deadlined struct {
	net.Conn
	read, write []time.Duration // from now on
}

func (*deadlined) Write(p []byte) (int, error) { return len(p), nil }

func (*deadlined) Read(p []byte) (int, error) { return copy(p, "+OK\r\n"), nil }

func (c *deadlined) SetReadDeadline(t time.Time) error {
	c.read = append(c.read, time.Until(t))
	return nil
}

func (c *deadlined) SetWriteDeadline(t time.Time) error {
	c.write = append(c.write, time.Until(t))
	return nil
}

// A deadline is set again only when it would be shorter than the longest silence by more than the slack.
func TestTheDeadlinesOfASession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &deadlined{}
		s := newSession(c, Server{})
		for i, wait := range []time.Duration{0, deadlineSlack, 1, deadlineSlack} {
			time.Sleep(wait)
			s.Put(nil)
			require.NoError(t, s.Flush())
			replies, err := s.Receive()
			require.NoError(t, err)
			require.Equal(t, []Reply{{Value: "OK"}}, replies)
			want := slices.Repeat([]time.Duration{maxSilence}, []int{1, 1, 2, 2}[i])
			assert.Equal(t, want, c.read)
			assert.Equal(t, want, c.write)
		}
	})
}

// The rest of a reply may not come. The replies before it are delivered.
func TestASessionDoesNotWaitForTheRestOfAReply(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string]string{
		"a line": "+", "a length": "$1", "an end": "$1\r\nx\r", "text": "$9\r\nx\r\n", "a list": "*2\r\n:1\r\n",
		"a list in a list": "*2\r\n:1\r\n*1\r\n",
		"a long list":      "*2147483647\r\n",
		"a long text":      "$9223372036854775807\r\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			client, server := net.Pipe()
			s := newSession(client, Server{})
			whole := []string{
				"+OK\r\n", ":1\r\n", "$-1\r\n", "*-1\r\n", "$2\r\nab\r\n", "*2\r\n*0\r\n$0\r\n\r\n", "-ERR\r\n",
			}
			for range whole {
				s.Put(nil)
			}
			s.Put(nil)
			go func() {
				_, _ = server.Write([]byte(strings.Join(whole, "") + rest))
			}()
			began := time.Now()
			replies, err := s.Receive()
			require.NoError(t, err, name)
			assert.Len(t, replies, len(whole), name)
			assert.Zero(t, time.Since(began), name)
			_, _ = client.Close(), server.Close()
		})
	}
}

// The beginning of a reply without a request must not become a part of the next reply.
func TestASessionEndsAtTheBeginningOfAnUnaskedReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		s := newSession(client, Server{})
		s.Put(nil)
		go func() {
			_, _ = server.Write([]byte(":0\r\n+O"))
		}()
		replies, err := s.Receive()
		require.ErrorIs(t, err, ErrUnasked)
		assert.Len(t, replies, 1)
		_, _ = client.Close(), server.Close()
	})
}

func TestAWriteToABrokenSessionFails(t *testing.T) {
	t.Parallel()
	s := newSession(&fakeConn{err: errBroken}, Server{})
	require.ErrorIs(t, s.Flush(), errBroken)
	require.ErrorIs(t, s.Verify(), errBroken)
	ended := newSession(&mute{fakeConn{err: errBroken}}, Server{})
	require.ErrorIs(t, ended.Verify(), errBroken)
	_, err := ended.Receive()
	require.ErrorIs(t, err, errBroken, "the session was closed after the write failed")
	assert.Equal(t, errBroken, s.silence(io.EOF), "the write failed first")
	assert.Equal(t, errNoAnswer, newSession(&fakeConn{}, Server{}).silence(io.EOF))
}

func TestWhatArrivesOverASubscription(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply         any
		channel, text string
		answer        bool
		err           error
	}{
		"a message":                   {[]any{"message", "a", "x"}, "a", "x", false, nil},
		"an empty message":            {[]any{"message", "a", ""}, "a", "", false, nil},
		"an answer to SUBSCRIBE":      {[]any{"subscribe", "a", int64(1)}, "a", "", true, nil},
		"an answer to UNSUBSCRIBE":    {[]any{"unsubscribe", "a", int64(0)}, "", "", true, nil},
		"an answer without a channel": {[]any{"unsubscribe", nil, int64(0)}, "", "", true, nil},
		"a refusal":                   {resp.Error("NOPERM"), "", "", true, resp.Error("NOPERM")},
		"a large message":             {resp.Oversized{}, "", "", false, nil},
		"text":                        {"message", "", "", false, errNoEvent},
		"a message without a text":    {[]any{"message", "a", nil}, "", "", false, errNoEvent},
		"a message without a channel": {[]any{"message", nil, "x"}, "", "", false, errNoEvent},
		"SUBSCRIBE without a count":   {[]any{"subscribe", "a", "1"}, "", "", false, errNoEvent},
		"SUBSCRIBE without a channel": {[]any{"subscribe", nil, int64(1)}, "", "", false, errNoEvent},
		"UNSUBSCRIBE without a count": {[]any{"unsubscribe", "a", "0"}, "", "", false, errNoEvent},
		"UNSUBSCRIBE of another kind": {[]any{"unsubscribe", int64(1), int64(0)}, "", "", false, errNoEvent},
		"another event":               {[]any{"pmessage", "a", "x"}, "", "", false, errNoEvent},
		"more than an event":          {[]any{"message", "a", "x", "y"}, "", "", false, errNoEvent},
	} {
		channel, text, answer, err := readEvent(c.reply)
		assert.Equal(t, c.err, err, name)
		assert.Equal(t, c.channel, channel, name)
		assert.Equal(t, c.text, text, name)
		assert.Equal(t, c.answer, answer, name)
	}
}

// An error reply belongs to the oldest command without a reply.
func TestWhichChannelOfASubscriptionIsRefused(t *testing.T) {
	t.Parallel()
	var o owed
	for _, channel := range []string{"a", "b", "", "c"} {
		o.add(channel)
	}
	for _, c := range []struct {
		refusal error
		channel string
		err     error
	}{
		{nil, "", nil},
		{errBroken, "b", errBroken},
		{errBroken, "", nil},
		{errBroken, "c", errBroken},
		{nil, "", ErrUnasked},
		{errBroken, "", errBroken},
	} {
		channel, err := o.settle(c.refusal)
		assert.Equal(t, c.channel, channel)
		assert.Equal(t, c.err, err)
	}
}

// mute is a connection to which nothing can be written, and which the server has ended.
type mute struct{ fakeConn }

func (*mute) Read([]byte) (int, error) { return 0, net.ErrClosed }

func (*mute) SetReadDeadline(time.Time) error { return nil }

// Only before the first command has been sent does nothing else receive.
func TestAnErrorOfASubscriptionThatHasEnded(t *testing.T) {
	t.Parallel()
	w := &wireSubscription{session: newSession(&mute{fakeConn{err: errBroken}}, Server{})}
	require.ErrorIs(t, w.Subscribe([]string{"a"}), net.ErrClosed, "what the server said")
	assert.ErrorIs(t, w.Subscribe([]string{"b"}), errBroken)
}
