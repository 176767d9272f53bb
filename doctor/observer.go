package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/replyerr"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// observer observes one master for a span.
type observer struct {
	ctx        context.Context
	node       *wire.Node
	clock      clock.Clock
	m          *master
	span       time.Duration
	began, end time.Time // of the span

	conn *link.Connection // that answered INFO
}

// asker asks one master over a connection of its own.
type asker struct {
	ctx     context.Context
	conn    *link.Connection
	refused []refusal
	keep    bool // do not close conn
}

// grace is how long after the span a master that is silent is asked again.
const grace = 3 * time.Second

// over calls ask with a connection and closes it, unless ask keeps it. If the master is silent, over repeats that until
// the grace ends; if the connection ends after the master has answered INFO, until the span ends. ask returns the error
// of a connection that failed; it notes error replies.
func (o *observer) over(ask func(*asker) error) (refused []refusal, err error) {
	for {
		a := &asker{ctx: o.ctx, conn: o.node.Connect()}
		err := ask(a)
		if !a.keep {
			a.conn.Close()
		}
		now := o.clock.Now()
		again := silent(err) && now.Before(o.end.Add(grace)) ||
			o.m.info != nil && !replyerr.Is(err) && now.Before(o.end)
		if err == nil || !again || clock.Sleep(o.ctx, o.clock, o.span/groupsPerSpan) != nil {
			return a.refused, err
		}
	}
}

// silent reports whether err says that a master did not answer in time.
func silent(err error) bool {
	var timeout net.Error
	return errors.Is(err, node.ErrTimeout) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// ask executes commands in one round trip. It notes the error replies, and returns the error of the connection.
func (a *asker) ask(commands ...[]any) ([]link.Answer, error) {
	answers := a.conn.DoAll(a.ctx, commands)
	for i, answer := range answers {
		switch {
		case dismissal(answer.Err):
			return nil, answer.Err
		case replyerr.Is(answer.Err):
			a.refused = append(a.refused, refusal{strings.TrimSpace(fmt.Sprintln(commands[i]...)), answer.Err})
		case answer.Err != nil:
			return nil, answer.Err
		}
	}
	return answers, nil
}

// dismissal reports whether an error reply refuses not a command but the connection.
func dismissal(err error) bool {
	return replyerr.Is(err) && strings.Contains(err.Error(), "ERR max number of clients")
}
