package resp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
)

// ErrCommand is the error of data that is no command.
var ErrCommand = errors.New("it is not a Redis command")

// ReadCommand reads one command, which may be of any size: an array of bulk strings, or a line of words.
func ReadCommand(r *bufio.Reader) ([]string, error) {
	for {
		line, err := readLine(r)
		if err != nil {
			return nil, err
		}
		if len(line) == 0 || line[0] != '*' {
			if words := strings.Fields(string(line)); len(words) > 0 {
				return words, nil
			}
			continue
		}
		n, err := strconv.Atoi(string(line[1:]))
		if err != nil || n > 1<<20 {
			return nil, ErrCommand
		}
		if n <= 0 {
			continue
		}
		args := make([]string, n)
		for i := range args {
			if args[i], err = readBulk(r); err != nil {
				return nil, err
			}
		}
		return args, nil
	}
}

func readBulk(r *bufio.Reader) (string, error) {
	line, err := readLine(r)
	if err != nil {
		return "", err
	}
	if len(line) == 0 || line[0] != '$' {
		return "", ErrCommand
	}
	n, err := strconv.Atoi(string(line[1:]))
	if err != nil || n < 0 {
		return "", ErrCommand
	}
	if n+2 > r.Size() {
		data := make([]byte, n+2)
		if _, err := io.ReadFull(r, data); err != nil {
			return "", err
		}
		return string(data[:n]), nil
	}
	data, err := r.Peek(n + 2)
	if err != nil {
		return "", err
	}
	text := string(data[:n])
	_, err = r.Discard(n + 2)
	return text, err
}

// readLine returns the next line without its end. The line is valid until the next read.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		begin := bytes.Clone(line)
		line, err = r.ReadBytes('\n')
		line = append(begin, line...)
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}
