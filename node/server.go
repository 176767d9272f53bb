package node

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Server is the identity of one server process, as INFO tells it.
type Server struct {
	// RunID is random and new for every process; "" if it is not known.
	RunID string
	// Up is the earliest moment, on this client's clock, from which the process has certainly been running and
	// watched: nothing it knew before that counts as remembered.
	Up time.Time
	// Err says why nobody knows: an *IdentityError if the server does not say who it is.
	Err error

	scripts scriptRight // found by the handshake
}

// Trusted says whether a grant of this server counts at now: nil, Err, or a *RestartError for a server that has not been
// up for longer than the window.
//
// The source is the Redlock page, "Performance, crash recovery and fsync", which asks a restarted instance to stay
// away for longer than the largest TTL; here the client sees to it.
func (s Server) Trusted(window time.Duration, now time.Time) error {
	if s.Err != nil {
		return s.Err
	}
	return s.restarted(window, now)
}

// restarted returns a *RestartError for a server that is known to have come up within the window.
func (s Server) restarted(window time.Duration, now time.Time) error {
	if left := window - now.Sub(s.Up); window > 0 && left >= 0 {
		return &RestartError{Left: left}
	}
	return nil
}

// guard turns a grant that does not count into what it is worth: it was executed, so it has to be released. Unknown.
func (s Server) guard(v Vote, window time.Duration, now time.Time) Vote {
	if window <= 0 || v.Verdict != Granted {
		return v
	}
	if err := s.Trusted(window, now); err != nil {
		v.Verdict, v.Err = Unknown, err
	}
	return v
}

// identities remembers who answered at an address, to notice that it is another one.
type identities struct {
	last Server
	seen time.Time // when last was first seen: it has certainly been up since then
}

// learn takes a reply of INFO server received at now.
func (m *identities) learn(info string, err error, now time.Time) Server {
	if err != nil && !refusesInfo(err) {
		return Server{Err: fmt.Errorf("who answered is not known: %w", err)} // for this once
	}
	if err != nil {
		return Server{Err: &IdentityError{Err: err}}
	}
	fields := parseInfo(info)
	id := fields["run_id"]
	uptime, uerr := uptimeOf(fields)
	if id == "" || uerr != nil {
		return Server{RunID: id, Err: &IdentityError{Err: errors.New("the fields are missing")}}
	}
	// Uptime is the difference of two wall times rounded down to seconds: the process may be up to a second younger.
	s := Server{RunID: id, Up: now.Add(time.Second - uptime)}
	switch {
	case m.last.RunID == id:
		// The same process. An uptime that is not what it must be by now means that its clock was set: believe the shorter.
		if m.last.Up.After(s.Up) {
			s.Up = m.last.Up
		}
	case m.last.RunID != "":
		// Another process than before. Its uptime may be long (a promoted replica) and still it knows nothing.
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

// uptimeOf is how long a server says that it has been up. Where its wall clock was set back it may say less than nothing.
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

// Status is what a server says of itself.
type Status struct {
	Role, Version string
	Server        Server
	Uptime        time.Duration
	// Loading: it reads its dataset, and refuses commands until it has.
	Loading bool
}

// StatusOp asks a server for its [Status]; the vote's Data holds it.
func StatusOp() *Op {
	return Command("status", readStatus, "info")
}

func readStatus(reply any) Vote {
	text, ok := reply.(string)
	if !ok {
		return badReply(reply)
	}
	fields := parseInfo(text)
	if fields["role"] == "" {
		return badReply(reply)
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
