package redlocktest

import (
	"time"

	"github.com/redlock-go/redlock/internal/embedded"
)

// A backend is what a Master is made of: a server behind a loopback socket, or one in virtual time. Calls that have
// nothing to change do nothing, and so do all but URL after the backend has been closed.
type backend interface {
	URL() string
	Stop()
	Start() error
	Freeze()
	Thaw()
	Wipe()
	Slow(d time.Duration)
	Refuse(text string)
	Set(key, value string, ttl time.Duration)
	Del(key, channel, message string)
}

var (
	_ backend = (*embedded.Master)(nil)
	_ backend = (*virtual)(nil)
)
