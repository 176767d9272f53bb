package wire

import (
	"bufio"
	"errors"
)

// ReadReply reads one reply as a session does.
func ReadReply(in *bufio.Reader) (any, error) { return (&decoder{in: in, left: maxReply}).read() }

// Oversized stands for a reply that was too large to keep.
type Oversized = oversized

// IsProtocolError reports whether err says that the data is no reply.
func IsProtocolError(err error) bool { return errors.Is(err, errProtocol) }

// CutOff is the error of a connection that ended where a reply was due.
func CutOff(err error) error { return cutOff(err) }

// Encode encodes a command; Commands decodes several.
func Encode(args ...any) []byte       { return appendCommand(nil, args) }
func Commands(encoded []byte) [][]any { return decodeCommands(encoded) }

// Encoded returns the operation as a node sends it, EncodedText as a node sends it to a master that does not know the
// script.
func Encoded(o *Op) []byte     { return o.out }
func EncodedText(o *Op) []byte { return o.text() }

// MaxReply bounds a reply, and MaxError the part of an error that is kept.
const (
	MaxReply = maxReply
	MaxError = maxError
)

// ReadSet and ReadStatus read the replies of SET NX and INFO.
func ReadSet(reply any) Vote    { return readSet(reply) }
func ReadStatus(reply any) Vote { return readStatus(reply) }
