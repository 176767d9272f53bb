package link

import (
	"bufio"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redlock-go/redlock/internal/resp"
)

// ErrUnasked is the error of a connection on which a reply arrived that belongs to no command.
var ErrUnasked = errors.New("the master sent a reply without a request")

// session is a Link over one connection to one server process. go-redis is not used for it: its pipelines send one
// batch and wait for the replies, it allocates a command object for every call, and it trusts the lengths and the types
// of replies.
//
// A server that answers wrongly, or more than was asked, ends its session. Whatever it sends, at most twice
// resp.MaxReply of replies is kept in a session at a time, which takes less than 16 MiB.
type session struct {
	conn       net.Conn
	identity   *Server
	known      *identities // of all links of the node
	opened     time.Time
	repliesDue atomic.Int64
	maxReply   int                   // how large a reply may be
	greeted    bool                  // the first reply was read
	password   string                // that the error of the first reply must not show
	writeErr   atomic.Pointer[error] // why a write failed; nil: none has

	out     []byte    // put, not yet flushed
	writeBy time.Time // the write deadline

	in      *bufio.Reader
	replies []Reply
	readBy  time.Time // the read deadline

	used    time.Time   // when the session was opened, or last received from
	replace atomic.Bool // the next batch needs another connection: the server is another one, or has another role
}

var _ Link = (*session)(nil)

const (
	// idleAfter is how long after its last use a connection is checked before the next use. Checking the socket each
	// time would cost a lone caller a fifth of its CPU time.
	idleAfter = time.Second
	// maxSilence is how long a connection may stay without a reply that is due before it is closed.
	maxSilence = 30 * time.Second
	// deadlineSlack is by how much a deadline may be shorter than maxSilence. Setting a deadline costs more than
	// reading the clock, so it is not set for each use.
	deadlineSlack = time.Second
	// replicaFor is how long a connection to a server that is no master is used before another one, which may lead to
	// another server, replaces it.
	replicaFor = 500 * time.Millisecond
)

func newSession(conn net.Conn, identity Server) *session {
	now := time.Now()
	in := bufio.NewReaderSize(conn, 16<<10)
	return &session{conn: conn, identity: &identity, maxReply: resp.MaxReply, in: in, opened: now, used: now}
}

func (s *session) Put(command []byte) {
	s.out = append(s.out, command...)
	s.repliesDue.Add(1)
}

func (s *session) Flush() error {
	// Not the configured clock: deadlines are real time.
	if now := time.Now(); s.writeBy.Sub(now) < maxSilence-deadlineSlack {
		s.writeBy = now.Add(maxSilence)
		_ = s.conn.SetWriteDeadline(s.writeBy) // the write reports an error
	}
	_, err := s.conn.Write(s.out)
	s.out = s.out[:0]
	if err != nil {
		s.writeErr.Store(&err)
	}
	return err
}

func (s *session) Receive() ([]Reply, error) {
	if now := time.Now(); s.readBy.Sub(now) < maxSilence-deadlineSlack {
		s.readBy = now.Add(maxSilence)
		_ = s.conn.SetReadDeadline(s.readBy)
	}
	s.replies = s.replies[:0]
	for size := 0; ; {
		v, n, err := s.read()
		size += n
		if err != nil {
			if failed := s.writeErr.Load(); failed != nil && errors.Is(err, net.ErrClosed) {
				err = *failed // which is why the session was closed
			}
			return s.replies, cutOff(err)
		}
		r := Reply{Value: v}
		if e, ok := v.(resp.Error); ok {
			r = Reply{Err: e}
			if strings.HasPrefix(string(e), "READONLY") {
				s.known.readOnly(s.identity.RunID)
				s.Replace()
			}
		}
		s.replies = append(s.replies, r)
		if s.repliesDue.Load() == 0 && s.in.Buffered() > 0 { // a reply that must not answer the next request
			return s.replies, ErrUnasked
		}
		if buffered, _ := s.in.Peek(s.in.Buffered()); size >= resp.MaxReply || !resp.BeginsWithReply(buffered) {
			s.used = time.Now()
			return s.replies, nil
		}
	}
}

// read reads the next reply, and returns its size as well. It is an error if none is due.
func (s *session) read() (reply any, size int, err error) {
	if s.repliesDue.Add(-1) < 0 {
		return nil, 0, ErrUnasked
	}
	return s.decode()
}

// decode reads the next reply, whether it is due or not.
func (s *session) decode() (reply any, size int, err error) {
	if !s.greeted {
		s.greeted = true
		return s.greeting()
	}
	return resp.Read(s.in, s.maxReply)
}

func (s *session) Streams() bool   { return !s.replace.Load() }
func (s *session) Server() *Server { return s.identity }

// Change also replaces the connection: the name of the server may lead to another one by now, and a server that became
// a master, or replaced another one behind a proxy, gets a restart window when it is identified.
func (s *session) Change(as *Server) {
	if as.RunID == s.identity.RunID && as.Role != s.identity.Role { // the next handshake learns all else
		s.known.changed(as)
	}
	s.identity = as
	s.Replace()
}

func (s *session) Replace() { s.replace.Store(true) }

// Close ends the transport without the closing alert of TLS, which could block, and which the kernel would send after
// the data that it must discard.
func (s *session) Close() {
	_ = transport(s.conn).Close()
}

// Verify sends a PING.
func (s *session) Verify() error {
	s.Put(ping)
	return s.Flush()
}

var ping = resp.AppendCommand(nil, []any{"ping"})

// State checks the socket, unless the session was used within idleAfter. A connection whose socket cannot be checked,
// such as a tunnel's, must be verified. A session that must be replaced has ended. So has one, after replicaFor, whose
// server is no master: its name may lead to another server by now.
func (s *session) State() State {
	if s.replace.Load() {
		return Ended
	}
	now := time.Now()
	if s.identity.NotMaster() != nil && now.Sub(s.opened) >= replicaFor {
		return Ended
	}
	if now.Sub(s.used) < idleAfter {
		return Usable
	}
	switch conn := transport(s.conn).(type) {
	case syscall.Conn:
		s.readBy = now.Add(maxSilence)
		_ = s.conn.SetReadDeadline(s.readBy) // a deadline that has passed would fail the check
		raw, err := conn.SyscallConn()
		if err != nil {
			return Ended
		}
		return peek(raw)
	case interface{ Readable() bool }: // of a test
		if conn.Readable() {
			return Ended
		}
		return Usable
	default:
		return Unverified
	}
}

// transport returns the connection below TLS, whose socket can be checked. Data on it while no reply is outstanding is
// an alert or the end of the stream. The session tickets that a TLS 1.3 server sends after the handshake were read with
// the first reply. If more tickets arrive later, the connection is replaced.
func transport(conn net.Conn) net.Conn {
	if secure, ok := conn.(*tls.Conn); ok {
		return secure.NetConn()
	}
	return conn
}
