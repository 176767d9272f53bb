// Package certmagic stores the certificates of certmagic (github.com/caddyserver/certmagic) in a directory that all
// machines share, and lets one machine at a time obtain or renew a certificate. A test runs it.
package certmagic

import (
	"github.com/caddyserver/certmagic"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/keyed"
)

// Storage is a certmagic.Storage on a directory that all machines share. Its locks are those of Keyed, which is at a
// smaller depth than those of FileStorage.
type Storage struct {
	files
	*keyed.Keyed
}

type files struct{ *certmagic.FileStorage }

var (
	_ certmagic.Storage   = Storage{}
	_ certmagic.TryLocker = Storage{}
)

// NewStorage returns a Storage on a directory.
func NewStorage(locker *redlock.Locker, dir string) Storage {
	return Storage{files{&certmagic.FileStorage{Path: dir}}, keyed.New(locker)}
}
