package node

import (
	"bufio"
	"errors"
)

// ReadReply reads one reply as a session does.
func ReadReply(in *bufio.Reader) (any, error) { return readReply(in) }

// IsProtocolError: what came is no reply.
func IsProtocolError(err error) bool { return errors.Is(err, errProtocol) }

// Encode is a command as it goes out; Commands takes several apart.
func Encode(args ...any) []byte       { return appendCommand(nil, args) }
func Commands(encoded []byte) [][]any { return commands(encoded) }

// Encoded is the operation as it goes out, and its text as it goes to a master that does not know the script.
func Encoded(o *Op) []byte     { return o.out }
func EncodedText(o *Op) []byte { return o.text() }

// MaxReply and MaxError bound what is read of a reply, and what is kept of an error.
const (
	MaxReply = maxReply
	MaxError = maxError
)

// ReadSet and ReadStatus read the replies of SET NX and INFO.
func ReadSet(reply any) Vote    { return readSet(reply) }
func ReadStatus(reply any) Vote { return readStatus(reply) }
