package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/node"
)

// observer asks one master.
type observer struct {
	ctx   context.Context
	conn  *node.Connection
	clock clock.Clock
	m     *master
}

// ask executes a command. It returns false if there is no reply, or an error reply, which it notes.
func (o *observer) ask(args ...any) (any, bool) {
	reply, err := o.conn.Do(o.ctx, args...)
	if err == nil {
		return reply, true
	}
	o.note(question(args), err)
	return nil, false
}

// question returns a command as text.
func question(args []any) string { return strings.TrimSpace(fmt.Sprintln(args...)) }

// note records that a question was not answered.
func (o *observer) note(question string, err error) {
	if node.IsReply(err) {
		o.m.refused = append(o.m.refused, refusal{question, err})
	} else if o.m.failure == nil {
		o.m.failure = err
	}
}
