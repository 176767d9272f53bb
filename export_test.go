package redlock

import (
	"time"

	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// MutexOps are the operations of a mutex.
func MutexOps(name, token string, ttl time.Duration) quorum.Ops { return mutex{name, token, ttl} }

// InspectOp reads who holds a name.
func InspectOp(name string) *node.Op { return inspectOp(name) }

// Sighting is what InspectOp's vote says.
func Sighting(v node.Vote) (kind, token string, left time.Duration, ok bool) {
	s, ok := v.Data.(sighting)
	return s.kind, s.token, s.left, ok
}

// Channel is where the release of a name is announced.
func Channel(name string) string { return channel(name) }

// StopLines keeps every line of the Locker as it is until the returned function is called.
func (l *Locker) StopLines() (goOn func()) {
	l.lines.mu.Lock()
	return l.lines.mu.Unlock
}
