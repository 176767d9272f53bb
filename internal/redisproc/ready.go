package redisproc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

const answerTimeout = time.Second

// errPassword says that an argument of Start gave the server a password.
var errPassword = errors.New("the server wants a password")

// answers reports whether the server at addr executes commands and is the process pid. Another server could have taken
// the port while it was free.
func answers(ctx context.Context, addr string, pid int) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "INFO server\r\n"); err != nil {
		return err
	}
	text, err := bulk(bufio.NewReader(conn))
	if errors.Is(err, errPassword) {
		return nil // it is up, and will not say who it is: the port has to be taken on trust
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if got, ok := strings.CutPrefix(strings.TrimSpace(line), "process_id:"); ok {
			if got == strconv.Itoa(pid) {
				return nil
			}
			return fmt.Errorf("the port belongs to process %s", got)
		}
	}
	return errors.New("INFO names no process_id")
}

// bulk reads one bulk string reply.
func bulk(r *bufio.Reader) (string, error) {
	head, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	head = strings.TrimSpace(head)
	if strings.HasPrefix(head, "-NOAUTH") {
		return "", errPassword
	}
	n, err := strconv.Atoi(strings.TrimPrefix(head, "$"))
	if err != nil || !strings.HasPrefix(head, "$") {
		return "", fmt.Errorf("INFO was answered with %q", head)
	}
	body := make([]byte, n)
	_, err = io.ReadFull(r, body)
	return string(body), err
}
