package link

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/replyerr"
	"github.com/redlock-go/redlock/internal/resp"
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

	// Scripts is what the handshake found.
	Scripts ScriptRight
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
	return s.Restarted(window, now)
}

// Restarted returns a *RestartError if the server is known to have come up within the window.
func (s Server) Restarted(window time.Duration, now time.Time) error {
	if left := window - now.Sub(s.Up); window > 0 && left >= 0 {
		return &node.RestartError{Left: left}
	}
	return nil
}

const (
	roleMaster  = "master" // the role of a server that votes
	roleReplica = "slave"
)

// NotMaster returns a *RoleError if the server is known not to be a master.
func (s *Server) NotMaster() error {
	if s == nil || s.Role == "" || s.Role == roleMaster {
		return nil
	}
	return &node.RoleError{Role: s.Role}
}

// ScriptRight is the result of a handshake's check of the right to run scripts. The zero value: unknown.
type ScriptRight struct {
	Allowed bool  // the master allows scripts
	Err     error // it refuses them, with this error; nil: it does not
}

// NoScript has the form of a script's digest, but is the digest of no script. So a server that answers NOSCRIPT to it
// allows this user to run scripts.
const NoScript = "0000000000000000000000000000000000000000"

// rightOf reads the reply to NoScript. A reply that neither refuses nor allows scripts leaves the right unknown.
func rightOf(err error) ScriptRight {
	if _, refused := replyerr.Refusal(err); refused {
		return ScriptRight{Err: err}
	}
	return ScriptRight{Allowed: replyerr.HasPrefix(err, "NOSCRIPT")}
}

// Observation is a reply to INFO server.
type Observation struct {
	RunID           string // "": unknown
	Asked, Answered time.Time
}

// identities remembers the server that answered at an address, to notice when another process answers there.
type identities struct {
	mu   sync.Mutex // several connections may be made at the same time
	last Server
	seen time.Time // when last answered for the first time, or was seen to be promoted
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
	fields := resp.ParseInfo(info)
	id := fields["run_id"]
	uptime, uerr := Uptime(fields)
	role := fields["role"]
	if id == "" || uerr != nil {
		return Server{RunID: id, Role: role, Err: &node.IdentityError{Err: errors.New("the fields are missing")}}
	}
	// Uptime is the difference of two wall times rounded down to seconds: the process may be up to a second younger.
	s := Server{RunID: id, Role: role, Up: now.Add(time.Second - uptime)}
	switch {
	case m.last.RunID == id && m.last.NotMaster() != nil && s.NotMaster() == nil:
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

// changed records that the server s has another role now. It does nothing if s is not the server that was learned last.
func (m *identities) changed(s *Server) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last.RunID != s.RunID {
		return
	}
	m.last.Role = s.Role
	if s.Up.After(m.last.Up) { // it was promoted
		m.last.Up, m.seen = s.Up, s.Up
	}
}

// readOnly records that the server with that run id refused a write: it is a replica.
func (m *identities) readOnly(runID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last.RunID == runID {
		m.last.Role = roleReplica
	}
}

// Uptime returns the uptime that the fields of INFO report. A negative one, after the wall clock was set back, counts
// as 0.
func Uptime(fields map[string]string) (time.Duration, error) {
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

// refusesInfo reports whether err is a reply that refuses INFO, rather than the connection, or every command for the
// moment. Proxies have words of their own, such as "ERR Command is not available: 'INFO'".
func refusesInfo(err error) bool {
	return replyerr.HasPrefix(err, "NOPERM", "ERR unknown", "ERR section") ||
		replyerr.HasPrefix(err, "ERR") && strings.Contains(strings.ToLower(err.Error()), "command")
}
