package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/redlock-go/redlock/node"
)

// connectError returns the error of a failed attempt to connect with a readable text. ctx is that of the attempt.
func connectError(ctx context.Context, err error) error {
	var noCredentials *credentialsError
	errors.As(err, &noCredentials)
	cause := context.Cause(ctx)
	late := errors.Is(cause, context.DeadlineExceeded) || cause == nil && timedOut(err)
	// An error of late attempts does not wrap err, which may match context.DeadlineExceeded as if the caller's context
	// had ended.
	switch {
	case noCredentials != nil && late:
		return fmt.Errorf("no credentials: %w", node.ErrTimeout)
	case cause != nil && !late: // the node was closed
		return node.ErrClosed
	case noCredentials != nil:
		return noCredentials
	case late && errors.As(err, new(*handshakeTLSError)):
		return fmt.Errorf("connecting: %w to the TLS handshake: rediss:// needs a port with TLS", node.ErrTimeout)
	case late:
		return fmt.Errorf("connecting: %w", node.ErrTimeout)
	case errors.Is(err, node.ErrNotRedis):
		return err
	case strings.Contains(err.Error(), "redis: can't parse"), strings.Contains(err.Error(), "redis: invalid reply"):
		return fmt.Errorf("%w (%w)", node.ErrNotRedis, err) // of a wrapped client
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
		return fmt.Errorf("%w: it does not use TLS there: it answers %q", node.ErrNotRedis, header.RecordHeader[:])
	case errors.Is(err, io.EOF):
		return &handshakeTLSError{errNoAnswer}
	default:
		return &handshakeTLSError{err}
	}
}

// HungUp reports whether err is that of a connection that the master accepted and then ended.
func HungUp(err error) bool {
	var op *net.OpError
	return errors.Is(err, errNoAnswer) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.As(err, &op) && (op.Op == "read" || op.Op == "write") && !op.Timeout()
}

// cutOff returns a readable error for a connection that ended where a reply was due.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the master ended the connection: %w", err)
	}
	return err
}

// timedOut reports whether err is that of a passed deadline: of a context, of a connection, or of a dialer.
func timedOut(err error) bool {
	var nerr net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		(errors.As(err, &nerr) && nerr.Timeout())
}

// credentialsError reports that the function of [WithCredentials] failed.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return "no credentials: " + e.err.Error() }

func (e *credentialsError) Unwrap() error { return e.err }
