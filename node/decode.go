package node

import (
	"bufio"
	"bytes"
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

// RedisError implements redis.Error.
func (replyError) RedisError() {}

var (
	errProtocol = errors.New("the reply is not of the Redis protocol")
	errTooLarge = fmt.Errorf("%w: it is larger than %d KiB", errProtocol, maxReply>>10)
)

const (
	// maxReply bounds one reply: its bytes, plus elementCost for each element of an array. It is enough for what
	// Inspect reads about 10,000 readers, and a small part of the memory that a broken server could claim.
	maxReply    = 1 << 20
	elementCost = 16
	maxDepth    = 8
	// maxError bounds the part of an error reply that is kept. An error reply may quote a key.
	maxError = 1 << 10
	// firstAlloc bounds the memory that is allocated for a length before any data has arrived. After that, the memory
	// doubles as data arrives.
	firstAlloc = 16 << 10
)

// decoder reads one reply.
type decoder struct {
	in   *bufio.Reader
	left int // how much of maxReply the rest of the reply may use
}

// readReply reads one reply (RESP2): a string, an int64, nil, a []any of these, or a replyError. The error is that of
// the connection.
func readReply(in *bufio.Reader) (any, error) {
	d := decoder{in: in, left: maxReply}
	return d.reply(0)
}

func (d *decoder) reply(depth int) (any, error) {
	line, err := d.line()
	if err != nil {
		return nil, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
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
		if len(text) > maxError {
			return replyError(text[:maxError]) + "…", nil
		}
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
	case n < 0:
		return nil, errProtocol
	case kind == '$':
		return d.bulk(n)
	case kind == '*' && depth < maxDepth:
		return d.array(n, depth)
	default:
		return nil, errProtocol
	}
}

// line reads up to and including the next newline. The result is valid until the next read.
func (d *decoder) line() ([]byte, error) {
	line, err := d.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) && len(long) <= d.left {
			line, err = d.in.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	if len(line) > d.left {
		return nil, errTooLarge
	}
	d.left -= len(line)
	return line, err
}

func (d *decoder) bulk(length int64) (any, error) {
	if length > int64(d.left-2) {
		return nil, errTooLarge
	}
	n := int(length)
	d.left -= n + 2
	b := make([]byte, min(n+2, firstAlloc))
	for read := 0; ; {
		if _, err := io.ReadFull(d.in, b[read:]); err != nil {
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

func (d *decoder) array(length int64, depth int) (any, error) {
	if length > int64(d.left/elementCost) {
		return nil, errTooLarge
	}
	n := int(length)
	d.left -= n * elementCost
	list := make([]any, 0, min(n, firstAlloc/elementCost))
	for range n {
		v, err := d.reply(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// cutOff returns a readable error for a connection that ended where a reply was due.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the master ended the connection: %w", err)
	}
	return err
}
