// Package replyerr recognizes what a server refuses by its error reply, or by its TLS alert.
package replyerr

import (
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// HasPrefix reports whether err is, or wraps, an error reply of Redis that begins with one of the words.
func HasPrefix(err error, words ...string) bool {
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

// Is reports whether err is, or wraps, an error reply of Redis, and not a failure of the connection.
func Is(err error) bool { return HasPrefix(err, "") }

// Refusal parses an error reply. command reports whether the user may not run a command, or the server does not
// know it. inScript reports whether the error happened inside a script. The texts differ between versions of Redis.
func Refusal(err error) (inScript, command bool) {
	answer, ok := err.(redis.Error) //nolint:errorlint // a reply is not wrapped
	if !ok {
		return false, false
	}
	text, _, _ := strings.Cut(answer.Error(), "redlock:fence:") // a lock's name may read like a refusal
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	inScript = has("in script", "executing the script", "called from")
	command = has("to run the '", "can't run this command", "nknown command", "nknown Redis command")
	return inScript, command
}

// RejectsCertificate reports whether err is the TLS alert of a server that does not accept the client's certificate, or
// that got none. Package crypto/tls has no type for it outside of QUIC.
func RejectsCertificate(err error) bool {
	var alert *net.OpError
	return errors.As(err, &alert) && alert.Op == "remote error" && strings.Contains(alert.Err.Error(), "certificate")
}
