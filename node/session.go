package node

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/clock"
)

// link carries batches to one master, in order. Only one batch is under way at a time.
type link interface {
	// exec sends the commands as one pipeline and returns when all replies are in, or none will come. The results are
	// on the commands; a command that got no reply has an error that is not a reply, or none at all: then err says why,
	// and it was never sent.
	exec(cmds []redis.Cmder) error
	// server is who answered the last exec.
	server() Server
	// close ends the link at once, also under a running exec. What the kernel still holds is not sent any more.
	close()
}

// session is one connection to one server process, and ends with it.
type session struct {
	clock    clock.Clock
	client   *redis.Client
	pipeline redis.Pipeliner // reused: one batch is under way at a time
	began    time.Time
	used     atomic.Int64 // when the last batch ended, in nanoseconds since began; 0: none has
	conn     net.Conn
	handed   atomic.Bool
	identity Server
}

var _ link = (*session)(nil)

// errSessionOver is what a command gets that go-redis would send over a second connection: it was not sent.
var errSessionOver = errors.New("the connection has ended")

// hand gives out the session's connection once. go-redis replaces a connection that it finds closed by itself; the
// replacement would lead to a process that nobody has identified, so it gets one that refuses everything.
func (s *session) hand() net.Conn {
	if s.handed.Swap(true) {
		return refusing{s.conn}
	}
	if raw, ok := s.conn.(syscall.Conn); ok {
		return busyConn{Conn: s.conn, raw: raw, session: s}
	}
	return s.conn
}

func (s *session) exec(cmds []redis.Cmder) error {
	err := execPipeline(s.pipeline, cmds)
	s.used.Store(int64(s.clock.Now().Sub(s.began)))
	return err
}

func (s *session) server() Server { return s.identity }

func (s *session) close() {
	_ = s.conn.Close()
	_ = s.client.Close()
}

func execPipeline(pipe redis.Pipeliner, cmds []redis.Cmder) error {
	_ = pipe.BatchProcess(context.Background(), cmds...) // only gathers
	_, err := pipe.Exec(context.Background())
	return err
}

// busyConn spares a connection that was used a moment ago the look into its socket that go-redis takes before every
// batch, to notice one that the server has closed. It was a fifth of a lone caller's CPU time.
type busyConn struct {
	net.Conn
	raw     syscall.Conn
	session *session
}

// busy is how long after a batch a connection is taken to be alive.
const busy = time.Second

func (c busyConn) SyscallConn() (syscall.RawConn, error) {
	s := c.session
	if used := s.used.Load(); used > 0 && s.clock.Now().Sub(s.began)-time.Duration(used) < busy {
		return unseen{}, nil
	}
	return c.raw.SyscallConn()
}

// unseen is a socket that shows nothing.
type unseen struct{}

func (unseen) Control(func(uintptr)) error    { return nil }
func (unseen) Read(func(uintptr) bool) error  { return nil }
func (unseen) Write(func(uintptr) bool) error { return nil }

// refusing is a connection that is over.
type refusing struct{ over net.Conn }

func (refusing) Read([]byte) (int, error)         { return 0, errSessionOver }
func (refusing) Write([]byte) (int, error)        { return 0, errSessionOver }
func (refusing) Close() error                     { return nil }
func (r refusing) LocalAddr() net.Addr            { return r.over.LocalAddr() }
func (r refusing) RemoteAddr() net.Addr           { return r.over.RemoteAddr() }
func (refusing) SetDeadline(time.Time) error      { return nil }
func (refusing) SetReadDeadline(time.Time) error  { return nil }
func (refusing) SetWriteDeadline(time.Time) error { return nil }

// result is what became of one command of a batch.
type result uint8

const (
	answered result = iota // the master replied, perhaps with an error
	notSent
	inDoubt
)

// classify tells what became of cmd in an exec that returned execErr. Facts of go-redis v9.23 behind it: an error
// reply to the handshake (WRONGPASS) is returned by Exec but not stamped on the commands, which then look like successes
// without a value; what ends a connection is stamped on every command of the batch that has no error yet, also on those
// that were answered before, and a reply that breaks off leaves a value beside its error. So a value counts only without one.
func classify(cmd *redis.Cmd, execErr error) (result, error) {
	err := cmd.Err()
	switch {
	case err == nil && cmd.Val() != nil:
		return answered, nil
	case err == redis.Nil: //nolint:errorlint // as the reader of replies stamps it
		return answered, err
	case err == nil && execErr == nil:
		return inDoubt, errors.New("no reply")
	case err == nil:
		return notSent, execErr
	default:
		return classifyError(err)
	}
}

func classifyError(err error) (result, error) {
	var reply redis.Error
	var op *net.OpError
	switch {
	case errors.As(err, &reply):
		return answered, err
	case errors.Is(err, errSessionOver), errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted),
		errors.As(err, &op) && op.Op == "dial":
		return notSent, err
	default:
		return inDoubt, err
	}
}
