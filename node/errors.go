package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	// ErrTimeout reports that the master did not answer by the request's deadline.
	ErrTimeout = errors.New("no answer in time")
	// ErrDropped reports that the request was canceled or late, or its lease had ended, before it was written.
	ErrDropped = errors.New("not sent: it was no longer wanted")
	// ErrBusy reports that too many requests wait for the master.
	ErrBusy = errors.New("not sent: too many requests wait for this master")
	// ErrClosed reports that the node was closed.
	ErrClosed = errors.New("the node is closed")
	// ErrBound reports that the node belongs to a Locker already.
	ErrBound = errors.New("the node belongs to a locker already: make one node for each locker")
	// ErrNotRedis reports that the server does not speak the Redis protocol.
	ErrNotRedis = errors.New("this is not a Redis server: check the address, and the scheme (rediss:// for TLS)")
)

// errNotConnected is the error of a request for which no connection was made in time.
var errNotConnected = fmt.Errorf("connecting: %w", ErrTimeout)

// SuspectError reports that a master was not asked because it failed shortly before.
type SuspectError struct {
	// Err is that failure.
	Err error
}

func (e *SuspectError) Error() string { return "not asked, it failed a moment ago: " + e.Err.Error() }

// Unwrap returns Err.
func (e *SuspectError) Unwrap() error { return e.Err }

// RestartError reports that a grant does not count: the server has restarted and may have forgotten earlier grants.
type RestartError struct {
	// Left is how long it takes until its grants count.
	Left time.Duration
}

func (e *RestartError) Error() string {
	return fmt.Sprintf("restarted a moment ago and may have forgotten locks: it may vote in %v",
		e.Left.Round(time.Millisecond))
}

// IdentityError reports that a server does not identify itself, so that a restart would go unnoticed.
type IdentityError struct {
	// Err is the reply to INFO.
	Err error
}

func (e *IdentityError) Error() string {
	return fmt.Sprintf("INFO server does not report run_id and uptime_in_seconds (%v), "+
		"so a restart that loses locks would go unnoticed: "+
		"allow INFO to this user, or switch the guard off with WithoutRestartGuard", e.Err)
}

// Unwrap returns Err.
func (e *IdentityError) Unwrap() error { return e.Err }

// RightError reports that a master was not asked for a lock because it refuses the script that would release the lock.
type RightError struct {
	// Err is the master's error reply to the script.
	Err error
}

func (e *RightError) Error() string {
	return fmt.Sprintf("not asked, since it refuses the scripts that release a lock: %v: "+
		"allow EVALSHA, EVAL and the commands of the scripts to this user", e.Err)
}

// Unwrap returns Err.
func (e *RightError) Unwrap() error { return e.Err }

// Permanent reports whether only an operator can fix the cause of err: a wrong password, a missing right, INFO refused,
// a database that the server lacks, protected mode, a certificate that the client or the server does not accept, a
// server that is not Redis or does not use TLS as the URL says, fencing tokens that are used up, or keys that a Redis
// Cluster keeps in different slots. Every other error may go away by itself.
func Permanent(err error) bool {
	var identity *IdentityError
	var certificate *tls.CertificateVerificationError
	var right *RightError
	var plain tls.RecordHeaderError
	var login *stepError
	return errors.Is(err, ErrNotRedis) || errors.As(err, &identity) || errors.As(err, &certificate) ||
		errors.As(err, &plain) || errors.As(err, &login) && login.permanent() ||
		rejectsCertificate(err) || errors.As(err, &right) || redis.IsAuthError(err) ||
		hasPrefix(err, "WRONGPASS", "NOAUTH", "NOPERM", "CROSSSLOT", "DENIED", "ERR DB index") ||
		refusedInScript(err) || fenceUsedUp(err)
}

// rejectsCertificate reports whether err is the TLS alert of a server that does not accept the client's certificate, or
// that got none. Package crypto/tls has no type for it outside of QUIC.
func rejectsCertificate(err error) bool {
	var alert *net.OpError
	return errors.As(err, &alert) && alert.Op == "remote error" && strings.Contains(alert.Err.Error(), "certificate")
}

// refusedInScript reports whether err is the reply to a script that may not run one of its commands. The reply has no
// error code of its own, and its text has changed after Redis 7.0.
func refusedInScript(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) &&
		(strings.Contains(reply.Error(), "The user executing the script can't") ||
			strings.Contains(reply.Error(), "ACL failure in script"))
}

// fenceUsedUp reports whether err is the reply of a script whose counter of fencing tokens is at its limit. Some
// versions of Redis put the position in the script before the text.
func fenceUsedUp(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && strings.Contains(reply.Error(), "USEDUP the fencing tokens of ")
}

// hasPrefix reports whether err is, or wraps, an error reply of Redis that begins with one of the words.
func hasPrefix(err error, words ...string) bool {
	if err == nil {
		return false // does not allocate
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return false
	}
	for _, w := range words {
		if strings.HasPrefix(reply.Error(), w) {
			return true
		}
	}
	return false
}

// connectError returns the error of a failed attempt to connect with a readable text. ctx is that of the attempt.
func connectError(ctx context.Context, err error) error {
	var noCredentials *credentialsError
	cause := context.Cause(ctx)
	late := errors.Is(cause, context.DeadlineExceeded) || cause == nil && timedOut(err)
	// An error of late attempts does not wrap err, which may match context.DeadlineExceeded as if the caller's context
	// had ended.
	switch {
	case errors.As(err, &noCredentials) && late:
		return fmt.Errorf("no credentials: %w", ErrTimeout)
	case cause != nil && !late: // the node was closed
		return ErrClosed
	case noCredentials != nil:
		return noCredentials
	case late && errors.As(err, new(*handshakeTLSError)):
		return fmt.Errorf("connecting: %w to the TLS handshake: rediss:// needs a port with TLS", ErrTimeout)
	case late:
		return fmt.Errorf("connecting: %w", ErrTimeout)
	case errors.Is(err, ErrNotRedis):
		return err
	case strings.Contains(err.Error(), "redis: can't parse"), strings.Contains(err.Error(), "redis: invalid reply"):
		return fmt.Errorf("%w (%w)", ErrNotRedis, err) // of a wrapped client
	default:
		return fmt.Errorf("connecting: %w", err)
	}
}

// handshakeTLSError is the error of a TLS handshake.
type handshakeTLSError struct{ err error }

func (e *handshakeTLSError) Error() string {
	return "TLS: " + strings.TrimPrefix(e.err.Error(), "tls: ")
}

func (e *handshakeTLSError) Unwrap() error { return e.err }

// tlsError returns the error of a TLS handshake.
func tlsError(err error) error {
	var header tls.RecordHeaderError
	switch {
	case errors.As(err, &header):
		return fmt.Errorf("%w: it does not use TLS there: it answers %q", ErrNotRedis, header.RecordHeader[:])
	case errors.Is(err, io.EOF):
		return &handshakeTLSError{errNoAnswer}
	default:
		return &handshakeTLSError{err}
	}
}

// hungUp reports whether err is that of a connection that the master accepted and then ended.
func hungUp(err error) bool {
	var op *net.OpError
	return errors.Is(err, errNoAnswer) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.As(err, &op) && (op.Op == "read" || op.Op == "write") && !op.Timeout()
}

// timedOut reports whether err is that of a passed deadline: of a context, of a connection, or of a dialer.
func timedOut(err error) bool {
	var nerr net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		(errors.As(err, &nerr) && nerr.Timeout())
}
