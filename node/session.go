package node

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

// link carries calls to one master, in order, and the replies back. One goroutine at a time writes to it, and one reads.
type link interface {
	// put adds an encoded command to those that flush sends.
	put(command []byte)
	// flush sends what was put. If it fails the link is over, and receive says what became of it.
	flush() error
	// receive waits until at least one reply is in, and returns those that are, oldest first: the next calls' of those
	// that were put. An error says that the link is over, and that no more will come. The replies are the caller's
	// until the next receive.
	receive() ([]reply, error)
	// state reports whether calls may be sent. It does not block, and is asked only while no reply is awaited.
	state() linkState
	// verify sends a PING, whose reply receive returns as that of a call. An error is as one of flush.
	verify() error
	// streams reports whether more may be sent before everything was received.
	streams() bool
	// server is who gave the replies received last.
	server() *Server
	// close ends the link at once, also under a running flush or receive. What the kernel still holds is not sent any more.
	close()
}

// linkState is what is known of a link on which no reply is awaited.
type linkState uint8

const (
	usable     linkState = iota
	unverified           // it has been idle, and the other end may have closed it: verify before calls are sent
	over                 // it cannot be used any more
)

// reply is what became of one command.
type reply struct {
	result result
	value  any   // answered: the reply, if it is no error
	err    error // answered: an error reply; otherwise why there is none
}

// result is what became of one command.
type result uint8

const (
	answered result = iota // the master replied, perhaps with an error
	notSent
	inDoubt
)

// errUnasked is a reply to nothing.
var errUnasked = errors.New("the master replied to something that it was not asked")

// session is one connection to one server process, and ends with it. go-redis has made it (open.go), and has no part in
// it any more: its pipelines are one question and one answer at a time, and cost a command object for every call.
type session struct {
	conn     net.Conn
	identity Server

	out     []byte // put, not yet flushed
	writeBy time.Time

	in      *bufio.Reader
	replies []reply
	readBy  time.Time

	used     time.Time // when it was opened, or last received from
	readOnly atomic.Bool
}

var _ link = (*session)(nil)

const (
	// busy is how long after it was last used a connection is taken to be alive: a look into the socket costs a lone
	// caller a fifth of its CPU time.
	busy = time.Second
	// renewal is how much of the patience with a silent connection may be spent before the next use restores it: setting
	// a deadline costs more than looking at the clock.
	renewal = time.Second
)

func newSession(conn net.Conn, identity Server) *session {
	return &session{conn: conn, identity: identity, in: bufio.NewReaderSize(conn, 16<<10), used: time.Now()}
}

func (s *session) put(command []byte) { s.out = append(s.out, command...) }

func (s *session) flush() error {
	if now := time.Now(); s.writeBy.Sub(now) < silence-renewal { // deadlines are by the kernel's clock
		s.writeBy = now.Add(silence)
		_ = s.conn.SetWriteDeadline(s.writeBy) // an error shows in what follows
	}
	_, err := s.conn.Write(s.out)
	s.out = s.out[:0]
	return err
}

func (s *session) receive() ([]reply, error) {
	if now := time.Now(); s.readBy.Sub(now) < silence-renewal {
		s.readBy = now.Add(silence)
		_ = s.conn.SetReadDeadline(s.readBy)
	}
	s.replies = s.replies[:0]
	for {
		v, err := readReply(s.in)
		if err != nil {
			return s.replies, cutOff(err)
		}
		r := reply{value: v}
		if e, ok := v.(replyError); ok {
			r = reply{err: e}
			if strings.HasPrefix(string(e), "READONLY") {
				s.readOnly.Store(true)
			}
		}
		s.replies = append(s.replies, r)
		if s.in.Buffered() == 0 {
			s.used = time.Now()
			return s.replies, nil
		}
	}
}

func (s *session) streams() bool   { return !s.readOnly.Load() }
func (s *session) server() *Server { return &s.identity }

// close ends the transport. TLS is not given the time to say goodbye: its alert could block, and would go out ahead of what
// the kernel is to discard.
func (s *session) close() {
	_ = transport(s.conn).Close()
}

// verify sends a PING.
func (s *session) verify() error {
	s.put(ping.out)
	return s.flush()
}

// state looks into the socket, unless the session was used a moment ago. A connection into which one cannot look, such as
// a tunnel's, is to be verified. A master that has become a replica is left, too: the name that led to it may lead to
// another server by now.
func (s *session) state() linkState {
	if s.readOnly.Load() {
		return over
	}
	now := time.Now()
	if now.Sub(s.used) < busy {
		return usable
	}
	switch conn := transport(s.conn).(type) {
	case syscall.Conn:
		s.readBy = now.Add(silence)
		_ = s.conn.SetReadDeadline(s.readBy) // one that has passed would end the look
		raw, err := conn.SyscallConn()
		if err != nil {
			return over
		}
		return peek(raw)
	case interface{ Readable() bool }: // a test's
		if conn.Readable() {
			return over
		}
		return usable
	default:
		return unverified
	}
}

// transport returns the connection under TLS. There, too, anything that can be read while no reply is awaited means that the
// connection is over, or soon: an alert, or the end of the stream. The tickets that a TLS 1.3 server sends after the
// handshake were read with the first reply; a connection on which more come later is replaced.
func transport(conn net.Conn) net.Conn {
	if secure, ok := conn.(*tls.Conn); ok {
		return secure.NetConn()
	}
	return conn
}
