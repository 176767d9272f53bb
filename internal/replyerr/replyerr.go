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

// RejectsCertificate reports whether err is the TLS alert of a server that does not accept the client's certificate, or
// that got none. Package crypto/tls has no type for it outside of QUIC.
func RejectsCertificate(err error) bool {
	var alert *net.OpError
	return errors.As(err, &alert) && alert.Op == "remote error" && strings.Contains(alert.Err.Error(), "certificate")
}
