package simnet

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
)

var errProtocol = errors.New("simnet: not a Redis command")

// readCommand reads one command: an array of bulk strings, or a line of words.
func readCommand(r *bufio.Reader) ([]string, error) {
	for {
		line, err := readLine(r)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(line, "*") {
			if words := strings.Fields(line); len(words) > 0 {
				return words, nil
			}
			continue
		}
		n, err := strconv.Atoi(line[1:])
		if err != nil || n > 1<<20 {
			return nil, errProtocol
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
	n, err := strconv.Atoi(strings.TrimPrefix(line, "$"))
	if err != nil || n < 0 || line[0] != '$' {
		return "", errProtocol
	}
	data := make([]byte, n+2)
	if _, err := io.ReadFull(r, data); err != nil {
		return "", err
	}
	return string(data[:n]), nil
}

func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}
