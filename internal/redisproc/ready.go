package redisproc

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/resp"
)

const answerTimeout = time.Second

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
	reply, _, err := resp.Read(bufio.NewReader(conn), resp.MaxReply)
	text := fmt.Sprint(reply)
	switch got := resp.ParseInfo(text)["process_id"]; {
	case err != nil:
		return err
	case got == strconv.Itoa(pid):
		return nil
	case got != "":
		return fmt.Errorf("the port belongs to process %s", got)
	case strings.HasPrefix(text, "NOAUTH"):
		return nil // an argument of Start gave it a password: it is up, and the port has to be taken on trust
	default:
		return fmt.Errorf("INFO was answered with %s", tail(text))
	}
}
