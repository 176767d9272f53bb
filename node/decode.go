package node

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// replyError is an error that a master replied with.
type replyError string

var _ redis.Error = replyError("")

func (e replyError) Error() string { return string(e) }

// RedisError marks it as one, see redis.Error.
func (replyError) RedisError() {}

var errProtocol = errors.New("the reply is not of the Redis protocol")

const (
	maxBulk  = 512 << 20 // what a server's strings are limited to by default
	maxDepth = 8
	piece    = 16 << 10 // the memory that a length is given on its word; beyond it, as much again as has come
)

// readReply reads one reply (RESP2): a string, an int64, nil, a []any of them, or a replyError. The error is the
// connection's.
func readReply(in *bufio.Reader, depth int) (any, error) {
	line, err := in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, errProtocol
	case err != nil:
		return nil, err
	case len(line) < 3 || line[len(line)-2] != '\r':
		return nil, errProtocol
	}
	kind, text := line[0], line[1:len(line)-2]
	switch kind {
	case '+':
		if string(text) == "OK" {
			return "OK", nil
		}
		return string(text), nil
	case '-':
		return replyError(text), nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	switch {
	case err != nil:
		return nil, errProtocol
	case kind == ':':
		return n, nil
	case n == -1 && (kind == '$' || kind == '*'):
		return nil, nil
	case kind == '$' && n >= 0 && n <= maxBulk:
		return readBulk(in, int(n))
	case kind == '*' && n >= 0 && n <= maxBulk && depth < maxDepth:
		return readArray(in, int(n), depth)
	default:
		return nil, errProtocol
	}
}

func readBulk(in *bufio.Reader, n int) (any, error) {
	b := make([]byte, min(n+2, piece))
	for read := 0; ; {
		if _, err := io.ReadFull(in, b[read:]); err != nil {
			return nil, err
		}
		if read = len(b); read == n+2 {
			break
		}
		b = append(b, make([]byte, min(n+2-read, read))...)
	}
	if b[n] != '\r' || b[n+1] != '\n' {
		return nil, errProtocol
	}
	return string(b[:n]), nil
}

func readArray(in *bufio.Reader, n, depth int) (any, error) {
	list := make([]any, 0, min(n, piece/16))
	for range n {
		v, err := readReply(in, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// cutOff says what it means that a connection ended where a reply was due.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the master ended the connection: %w", err)
	}
	return err
}
