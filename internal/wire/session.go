package wire

import (
	"bufio"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// errUnasked is the error of a connection on which a reply arrived that belongs to no command.
var errUnasked = errors.New("the master sent a reply without a request")

// session is a link over one connection to one server process. go-redis is not used for it: its pipelines send one
// batch and wait for the replies, it allocates a command object for every call, and it trusts the lengths and the types
// of replies.
//
// A server that answers wrongly, or more than was asked, ends its session. Whatever it sends, at most twice maxReply of
// replies is kept in a session at a time, which takes less than 16 MiB.
type session struct {
	conn     net.Conn
	identity *Server
	opened   time.Time
	due      atomic.Int64          // how many replies are due
	most     int                   // how large a reply may be, as maxReply counts
	greeted  bool                  // the first reply was read
	password string                // that the error of the first reply must not show
	writeErr atomic.Pointer[error] // why a write failed; nil: none has

	out     []byte    // put, not yet flushed
	writeBy time.Time // the write deadline

	in      *bufio.Reader
	replies []reply
	readBy  time.Time // the read deadline

	used    time.Time   // when the session was opened, or last received from
	replace atomic.Bool // for the next batch: the server is another one, or became a replica, or a master
}

var _ link = (*session)(nil)

const (
	// idleAfter is how long after its last use a connection is checked before the next use. Checking the socket each
	// time would cost a lone caller a fifth of its CPU time.
	idleAfter = time.Second
	// maxSilence is how long a connection may stay without a reply that is due before it is closed.
	maxSilence = 30 * time.Second
	// deadlineSlack is by how much a deadline may be shorter than maxSilence. Setting a deadline costs more than
	// reading the clock, so it is not set for each use.
	deadlineSlack = time.Second
)

func newSession(conn net.Conn, identity Server) *session {
	now := time.Now()
	in := bufio.NewReaderSize(conn, 16<<10)
	return &session{conn: conn, identity: &identity, most: maxReply, in: in, opened: now, used: now}
}

func (s *session) put(command []byte) {
	s.out = append(s.out, command...)
	s.due.Add(1)
}

func (s *session) flush() error {
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

func (s *session) receive() ([]reply, error) {
	if now := time.Now(); s.readBy.Sub(now) < maxSilence-deadlineSlack {
		s.readBy = now.Add(maxSilence)
		_ = s.conn.SetReadDeadline(s.readBy)
	}
	s.replies = s.replies[:0]
	for size := 0; ; {
		v, err := s.readSized(&size)
		if err != nil {
			return s.replies, cutOff(err)
		}
		r := reply{value: v}
		if e, ok := v.(replyError); ok {
			r = reply{err: e}
			if strings.HasPrefix(string(e), "READONLY") {
				s.replace.Store(true)
			}
		}
		s.replies = append(s.replies, r)
		if s.due.Load() == 0 && s.in.Buffered() > 0 { // the beginning of a reply, which must not answer the next request
			return s.replies, errUnasked
		}
		if buffered, _ := s.in.Peek(s.in.Buffered()); size >= maxReply || !beginsWithReply(buffered) {
			s.used = time.Now()
			return s.replies, nil
		}
	}
}

// read reads the next reply. It is an error if none is due.
func (s *session) read() (any, error) {
	size := 0
	return s.readSized(&size)
}

// readSized is read, and adds the size of the reply to size, as maxReply counts it.
func (s *session) readSized(size *int) (any, error) {
	if s.due.Add(-1) < 0 {
		return nil, errUnasked
	}
	return s.decode(size)
}

// decode reads the next reply, whether it is due or not.
func (s *session) decode(size *int) (v any, err error) {
	d := decoder{in: s.in, left: s.most}
	if s.greeted {
		v, err = d.read()
	} else {
		v, err = s.greeting(&d)
		s.greeted = true
	}
	*size += s.most - d.left
	return v, err
}

func (s *session) streams() bool   { return !s.replace.Load() }
func (s *session) server() *Server { return s.identity }

// change makes the next request use another connection: the name of the server may lead to another one by now, and a
// server that became a master, or replaced another one behind a proxy, gets a restart window when it is identified.
func (s *session) change(as *Server) {
	s.identity = as
	s.replace.Store(true)
}

// close ends the transport without the closing alert of TLS, which could block, and which the kernel would send after
// the data that it must discard.
func (s *session) close() {
	_ = transport(s.conn).Close()
}

// verify sends a PING.
func (s *session) verify() error {
	s.put(ping.out)
	return s.flush()
}

// state checks the socket, unless the session was used within idleAfter. A connection whose socket cannot be checked,
// such as a tunnel's, must be verified. The connection to a master that has become a replica has ended, too: its name
// may lead to another server by now.
func (s *session) state() linkState {
	if s.replace.Load() {
		return linkEnded
	}
	now := time.Now()
	if s.identity.notMaster() != nil && now.Sub(s.opened) >= replicaFor {
		return linkEnded
	}
	if now.Sub(s.used) < idleAfter {
		return linkUsable
	}
	switch conn := transport(s.conn).(type) {
	case syscall.Conn:
		s.readBy = now.Add(maxSilence)
		_ = s.conn.SetReadDeadline(s.readBy) // a deadline that has passed would fail the check
		raw, err := conn.SyscallConn()
		if err != nil {
			return linkEnded
		}
		return peek(raw)
	case interface{ Readable() bool }: // of a test
		if conn.Readable() {
			return linkEnded
		}
		return linkUsable
	default:
		return linkUnverified
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
