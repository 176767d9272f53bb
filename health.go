package redlock

import (
	"errors"
	"log/slog"

	"github.com/redlock-go/redlock/node"
)

// reportHealth logs and traces that a master became suspect or recovered, and logs refusals.
func (l *Locker) reportHealth(master string, err error) {
	var refusal *node.RefusalError
	if errors.As(err, &refusal) {
		l.logRefusal(master, refusal)
		return
	}
	if errors.As(err, new(*node.SubscriptionError)) {
		l.journal.repeat(slog.LevelWarn, master, "redlock: a master wakes no waiters, which poll",
			"master", master, "error", err)
		return
	}
	if err != nil {
		_, held := l.activity.present()
		l.journal.repeat(slog.LevelWarn, master, "redlock: a master does not answer",
			"master", master, "locks", held, "error", err)
	} else {
		l.journal.repeat(slog.LevelInfo, master, "redlock: a master answers again", "master", master)
	}
	if t := l.cfg.trace; t != nil && t.Node != nil {
		t.Node(NodeEvent{l.nodeStateAfter(master, err)})
	}
}

// logRefusal logs that a master answers but refuses releases, or is not asked for locks, or that this is over.
func (l *Locker) logRefusal(master string, r *node.RefusalError) {
	refuses := "redlock: a master is not asked for locks"
	var again string
	switch {
	case errors.As(r.Err, new(*node.SeveralServersError)):
		again = "redlock: an address leads to one server again, which is asked for locks"
	case errors.As(r.Err, new(*node.RoleError)):
		again = "redlock: a server is a master again, and is asked for locks"
	case errors.As(r.Err, new(*node.RightError)):
		again = "redlock: a master allows scripts again, and is asked for locks"
	default:
		refuses, again = "redlock: a master refuses releases, which are repeated", "redlock: a master executes releases again"
	}
	if r.Over {
		l.journal.repeat(slog.LevelInfo, master, again, "master", master)
	} else {
		l.journal.repeat(slog.LevelWarn, master, refuses, "master", master, "error", r.Err)
	}
}

// logDuplicate logs that two masters are one server.
func (l *Locker) logDuplicate(master, other string) {
	l.journal.log(slog.LevelWarn, "redlock: two masters are one server, and have one vote",
		"master", master, "other", other)
}
