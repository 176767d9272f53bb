package resp

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Error is an error reply.
type Error string

var _ redis.Error = Error("")

func (e Error) Error() string { return string(e) }

// RedisError implements redis.Error.
func (Error) RedisError() {}

var (
	// ErrProtocol is the error of data that is no reply.
	ErrProtocol = errors.New("the reply is not of the Redis protocol")
	// ErrTooLarge is the error of a reply that is too large even to be read and thrown away.
	ErrTooLarge = fmt.Errorf("%w: it is larger than %d MiB", ErrProtocol, maxSkipped>>20)
)

// Oversized stands for a reply that was too large to keep, and was read and thrown away. The next reply can be read.
type Oversized struct{}

func (Oversized) String() string { return fmt.Sprintf("(more than %d KiB)", MaxReply>>10) }

const (
	// MaxReply is the bound of the replies to requests. It is several times what a script returns, and a small part of
	// the memory that a broken server could claim.
	MaxReply    = 1 << 20
	elementCost = 16
	maxDepth    = 8
	// maxSkipped bounds the rest of a reply, which is read and not kept. A larger reply ends the connection: other calls
	// wait for the replies that follow.
	maxSkipped = 64 << 20
	// MaxError bounds the part of an error reply that is kept. An error reply may quote a key.
	MaxError = 1 << 10
	// firstAlloc bounds the memory that is allocated for a length before any data has arrived. After that, the memory
	// doubles as data arrives.
	firstAlloc = 16 << 10
)

// Read reads one reply: a string, an int64, nil, a []any of these, an [Error], or [Oversized] if the reply is larger
// than most. The size of a reply is its bytes, plus elementCost for each element of an array. The error is that of the
// connection, [ErrProtocol] or [ErrTooLarge].
func Read(in *bufio.Reader, most int) (reply any, size int, err error) {
	d := decoder{in: in, left: most}
	reply, err = d.reply(0)
	if _, refused := reply.(Error); d.over && err == nil && !refused {
		reply = Oversized{}
	}
	return reply, most - d.left, err
}

// decoder reads one reply.
type decoder struct {
	in   *bufio.Reader
	left int // how much of the bound the rest of the reply may use
	// over reports whether the reply is larger. From then on nothing is kept: every method only counts, in skipped.
	over    bool
	skipped int64
}

// skip counts n bytes that are not kept, and all that follow.
func (d *decoder) skip(n int64) error {
	d.over = true
	if n > maxSkipped-d.skipped {
		return ErrTooLarge
	}
	d.skipped += n
	return nil
}

func (d *decoder) reply(depth int) (any, error) {
	line, err := d.line()
	if err != nil {
		return nil, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return nil, ErrProtocol
	}
	kind, text := line[0], line[1:len(line)-2]
	switch kind {
	case '+':
		if string(text) == "OK" {
			return "OK", nil
		}
		return string(text), nil
	case '-':
		if len(text) > MaxError {
			return Error(text[:MaxError]) + "…", nil
		}
		return Error(text), nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	switch {
	case err != nil:
		return nil, ErrProtocol
	case kind == ':':
		return n, nil
	case n == -1 && (kind == '$' || kind == '*'):
		return nil, nil
	case n < 0:
		return nil, ErrProtocol
	case kind == '$':
		return d.bulk(n)
	case kind == '*' && depth < maxDepth:
		return d.array(n, depth)
	default:
		return nil, ErrProtocol
	}
}

// line reads up to and including the next newline. The result is valid until the next read.
func (d *decoder) line() ([]byte, error) {
	line, err := d.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = d.longLine(bytes.Clone(line))
	}
	if d.over || len(line) > d.left {
		return line, cmp.Or(d.skip(int64(len(line))), err)
	}
	d.left -= len(line)
	return line, err
}

// longLine reads the rest of a line that is larger than the buffer. If the line is too large, the result is its
// beginning and its last two bytes.
func (d *decoder) longLine(line []byte) ([]byte, error) {
	if line[0] != '+' && line[0] != '-' {
		return nil, ErrProtocol
	}
	for {
		more, err := d.in.ReadSlice('\n')
		if line = append(line, more...); d.over || len(line) > d.left {
			if err := d.skip(int64(len(more))); err != nil {
				return nil, err
			}
			line = append(line[:MaxError+2], line[len(line)-2:]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (d *decoder) bulk(length int64) (any, error) {
	if d.over || length > int64(d.left-2) {
		return nil, d.skipBulk(length)
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
		return nil, ErrProtocol
	}
	return string(b[:n]), nil
}

// skipBulk reads a bulk string and throws it away.
func (d *decoder) skipBulk(length int64) error {
	if err := d.skip(length); err != nil {
		return err
	}
	if _, err := d.in.Discard(int(length)); err != nil {
		return err
	}
	var end [2]byte
	_, err := io.ReadFull(d.in, end[:])
	if err == nil && string(end[:]) != "\r\n" {
		return ErrProtocol
	}
	return err
}

func (d *decoder) array(length int64, depth int) (any, error) {
	const least = len(":1\r\n") // bytes of an element
	if d.over = d.over || length > int64(d.left/elementCost); d.over {
		if length > (maxSkipped-d.skipped)/int64(least) {
			return nil, ErrTooLarge
		}
		for range length {
			if _, err := d.reply(depth + 1); err != nil {
				return nil, err
			}
		}
		return nil, nil
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

// BeginsWithReply reports whether b begins with a whole reply. If it does not, reading the reply could block.
func BeginsWithReply(b []byte) bool {
	_, ok := cutReply(b)
	return ok
}

// cutReply returns what follows the first reply in b, if b has all of that reply.
func cutReply(b []byte) (rest []byte, ok bool) {
	line, rest, ok := bytes.Cut(b, []byte("\r\n"))
	if !ok || len(line) == 0 || line[0] != '$' && line[0] != '*' {
		return rest, ok
	}
	n, _ := strconv.Atoi(string(line[1:]))
	if line[0] == '$' && n >= 0 {
		if ok = n <= len(rest)-2; ok {
			rest = rest[n+2:]
		}
		return rest, ok
	}
	for ; ok && n > 0; n-- {
		rest, ok = cutReply(rest)
	}
	return rest, ok
}

// ParseInfo returns the fields of a reply to INFO.
func ParseInfo(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			fields[key] = value
		}
	}
	return fields
}
