package wire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/replyerr"
	"github.com/redlock-go/redlock/node"
)

// Server identifies one server process by its reply to INFO.
type Server struct {
	// RunID is random and differs for every process; "" if it is unknown.
	RunID string
	// Up is the time, on this client's clock, since when the process has certainly been running. It is never before the
	// node first saw the process, if that replaced another one at this address, nor before it saw a promotion of the
	// process: the process may not know the locks from before.
	Up time.Time
	// Role is the role that the server reported last, such as "master" or "slave"; "" if it is unknown.
	Role string
	// Err is the reason why the identity is unknown: an *IdentityError if the server does not report it.
	Err error

	scripts scriptRight // found by the handshake
}

// Trusted returns nil if a grant of this server counts at now. Otherwise it returns Err, or a *RestartError if the
// server has not been up for longer than the window.
//
// The source is the Redlock page, "Performance, crash recovery and fsync", which asks that a restarted
// instance stay away for longer than the largest TTL. Here the client enforces it.
func (s Server) Trusted(window time.Duration, now time.Time) error {
	if s.Err != nil {
		return s.Err
	}
	return s.restarted(window, now)
}

// restarted returns a *RestartError if the server is known to have come up within the window.
func (s Server) restarted(window time.Duration, now time.Time) error {
	if left := window - now.Sub(s.Up); window > 0 && left >= 0 {
		return &node.RestartError{Left: left}
	}
	return nil
}

// guard turns a grant to c that does not count into Unknown: the operation was executed, so it must be released. bar is
// why no vote counts. The window must have passed when c was sent, not only when the reply is read, which may be much
// later.
func (s *Server) guard(v Vote, c *Call, bar error) Vote {
	if v.Verdict != Granted {
		return v
	}
	var err error
	if c.votes() {
		err = bar
	}
	if err == nil && c.Window > 0 {
		err = s.Trusted(c.Window, c.flight.sent)
	}
	if err != nil {
		v.Verdict, v.Guarded, v.Err = Unknown, true, err
	}
	return v
}

// identities remembers the server that answered at an address, to notice when another process answers there.
type identities struct {
	mu   sync.Mutex // several connections may be made at the same time
	last Server
	seen time.Time // when last answered for the first time
}

// learn reads a reply to INFO server and INFO replication, or its error, that was received at now.
func (m *identities) learn(info string, err error, now time.Time) Server {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil && !refusesInfo(err) {
		return Server{Err: fmt.Errorf("the server that answered is unknown: %w", err)} // only this time
	}
	if err != nil {
		return Server{Err: &node.IdentityError{Err: err}}
	}
	fields := parseInfo(info)
	id := fields["run_id"]
	uptime, uerr := uptimeOf(fields)
	role := fields["role"]
	if id == "" || uerr != nil {
		return Server{RunID: id, Role: role, Err: &node.IdentityError{Err: errors.New("the fields are missing")}}
	}
	// Uptime is the difference of two wall times rounded down to seconds: the process may be up to a second younger.
	s := Server{RunID: id, Role: role, Up: now.Add(time.Second - uptime)}
	switch {
	case m.last.RunID == id && m.last.notMaster() != nil && s.notMaster() == nil:
		// It was promoted. It has the locks that its master had sent it, at most.
		s.Up, m.seen = now, now
	case m.last.RunID == id:
		// The same process. If its uptime contradicts the earlier one, its clock was set: the shorter one counts.
		if m.last.Up.After(s.Up) {
			s.Up = m.last.Up
		}
	case m.last.RunID != "":
		// Another process. It may have been up for long (a promoted replica) without knowing the locks.
		s.Up, m.seen = now, now
	default:
		m.seen = now
	}
	if s.Up.After(m.seen) {
		s.Up = m.seen
	}
	m.last = s
	return s
}

// uptimeOf returns the uptime that a server reports. It is negative if the wall clock was set back, which counts as 0.
func uptimeOf(fields map[string]string) (time.Duration, error) {
	const century = 100 * 365 * 24 * 3600
	seconds, err := strconv.ParseInt(fields["uptime_in_seconds"], 10, 64)
	switch {
	case err != nil:
		return 0, err
	case seconds > century:
		return 0, fmt.Errorf("an uptime of %d seconds", seconds)
	default:
		return time.Duration(max(0, seconds)) * time.Second, nil
	}
}

func parseInfo(info string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(info) {
		if key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			fields[key] = value
		}
	}
	return fields
}

// Status is what a server reports about itself.
type Status struct {
	Role, Version string
	Server        Server
	Uptime        time.Duration
	// Loading reports that the server is loading its dataset and refuses commands meanwhile.
	Loading bool
}

// StatusOp returns an operation that reads a server's [Status] into the vote's Data.
func StatusOp() *Op {
	o := Command("status", readStatus, "info")
	o.anyRole = true
	return o
}

func readStatus(reply any) Vote {
	text, ok := reply.(string)
	if !ok {
		return badReply(reply)
	}
	fields := parseInfo(text)
	if fields["role"] == "" {
		return unknown(errNoRole)
	}
	uptime, _ := uptimeOf(fields)
	version := fields["redis_version"]
	if fields["valkey_version"] != "" {
		version = fmt.Sprintf("valkey %s", fields["valkey_version"])
	}
	return Vote{Verdict: Granted, Data: Status{
		Role:    fields["role"],
		Version: version,
		Uptime:  uptime,
		Loading: fields["loading"] == "1",
	}}
}

var errNoRole = errors.New("INFO reports no role: allow the whole of INFO to this user")

// refusesInfo reports whether err is a reply that refuses INFO, rather than every command for the moment.
func refusesInfo(err error) bool {
	return replyerr.HasPrefix(err, "NOPERM", "ERR unknown", "ERR section")
}
