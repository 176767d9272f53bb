package node

import (
	"bufio"
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
	// ended reports whether the link is known to be over. It is asked only while nothing is awaited.
	ended() bool
	// streams reports whether more may be sent before everything was received.
	streams() bool
	// server is who gave the replies received last.
	server() *Server
	// close ends the link at once, also under a running flush or receive. What the kernel still holds is not sent any more.
	close()
}

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

	used     time.Time // when it was last received from
	readOnly atomic.Bool
}

var _ link = (*session)(nil)

const (
	// busy is how long after it was received from a connection is taken to be alive: a look into the socket costs a lone
	// caller a fifth of its CPU time.
	busy = time.Second
	// renewal is how much of the patience with a silent connection may be spent before the next use restores it: setting
	// a deadline costs more than looking at the clock.
	renewal = time.Second
)

func newSession(conn net.Conn, identity Server) *session {
	return &session{conn: conn, identity: identity, in: bufio.NewReaderSize(conn, 16<<10)}
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
		v, err := readReply(s.in, 0)
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
func (s *session) close()          { _ = s.conn.Close() }

// ended looks into the socket, unless it was used a moment ago. A master that has become a replica is left, too: the name
// that led to it may lead to another server by now.
func (s *session) ended() bool {
	if s.readOnly.Load() {
		return true
	}
	now := time.Now()
	socket, ok := s.conn.(syscall.Conn)
	if !ok || s.used.IsZero() || now.Sub(s.used) < busy {
		return false // not ok: TLS, or a test's
	}
	s.readBy = now.Add(silence)
	_ = s.conn.SetReadDeadline(s.readBy) // one that has passed would end the look
	raw, err := socket.SyscallConn()
	return err != nil || endOfStream(raw)
}
