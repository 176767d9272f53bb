package redlocktest

import (
	"time"

	"github.com/redlock-go/redlock/internal/embedded"
)

// A backend implements a Master: as a server on a loopback socket, or as one in virtual time. A call that has nothing
// to change does nothing. After the backend was closed, every method except URL does nothing.
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
