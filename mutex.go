package redlock

import (
	_ "embed"
	"time"

	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

var (
	//go:embed lua/mutex_extend.lua
	mutexExtendLua string
	//go:embed lua/mutex_release.lua
	mutexReleaseLua string

	mutexExtend  = node.NewScript(mutexExtendLua)
	mutexRelease = node.NewScript(mutexReleaseLua)
)

// mutex is the kind of lock that one holds alone: a string key, the name byte for byte, with the token as its value.
// Every client that does SET NX PX and compare-and-delete excludes it and is excluded.
type mutex struct {
	name, token string
	ttl         time.Duration
}

var _ quorum.Ops = mutex{}

func (m mutex) Acquire() *node.Op {
	return node.Command("acquire", nil, "set", m.name, m.token, "nx", "px", m.ttl.Milliseconds())
}

func (m mutex) Extend() *node.Op {
	return mutexExtend.Op("extend", nil, []string{m.name}, m.token, m.ttl.Milliseconds())
}

func (m mutex) Release(held bool) *node.Op {
	announce := ""
	if held {
		announce = channel(m.name)
	}
	return mutexRelease.Op("release", nil, []string{m.name}, m.token, announce)
}

// channel is where the release of a name is announced.
func channel(name string) string { return "redlock:" + name }
