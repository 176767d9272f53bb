package redlock

import (
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// mutex is the kind of lock that one holds alone: a string key for each name, the name byte for byte, with the token as
// its value. Every client that does SET NX PX and compare-and-delete excludes it and is excluded.
type mutex struct{ *claim }

var _ quorum.Ops = mutex{}

func (m mutex) Acquire() *node.Op {
	if len(m.names) == 1 && !m.fencing {
		return node.Command("acquire", nil, "set", m.names[0], m.token, "nx", "px", m.ttl.Milliseconds()).
			About(m.names[0]).UndoneBy(m.scripts.mutex.release)
	}
	script := m.scripts.mutex.acquire
	if len(m.names) == 1 {
		script = m.scripts.mutex.fenced
	}
	return script.Op("acquire", readClaim(len(m.names)), m.keys(), m.token, m.ttl.Milliseconds(), m.hintArg(), m.keepFence()).
		About(m.title()).UndoneBy(m.scripts.mutex.release)
}

func (m mutex) Raise(fence int64) *node.Op {
	return m.scripts.mutex.raise.Op("raise", readRaise(fence), m.keys(), m.token, len(m.names), fence, m.keepFence()).About(m.title())
}

func (m mutex) Extend(fence int64) *node.Op {
	return m.scripts.mutex.extend.Op("extend", nil, m.keys(),
		m.token, m.ttl.Milliseconds(), len(m.names), fenceArg(fence), m.keepFence()).About(m.title())
}

func (m mutex) Release(held bool) *node.Op {
	args := append(make([]any, 0, 1+len(m.names)), m.token)
	if held {
		for _, name := range m.names {
			args = append(args, channel(name))
		}
	}
	return m.scripts.mutex.release.Op("release", nil, m.names, args...).About(m.title())
}

// keys are the names, and with fencing their fences.
func (m mutex) keys() []string {
	if !m.fencing {
		return m.names
	}
	keys := append(make([]string, 0, 2*len(m.names)), m.names...)
	for _, name := range m.names {
		keys = append(keys, fenceKey(name))
	}
	return keys
}
