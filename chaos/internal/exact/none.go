//go:build !cgo

package exact

import (
	"errors"
	"io"
)

type module struct{}

type instance struct {
	args           []string
	seed, order    uint64
	dir            string
	stdout, stderr io.Writer
}

var errUnavailable = errors.New("exact runs need cgo: install gcc, and leave CGO_ENABLED alone")

// Available returns nil, or why nothing can be played exactly here.
func Available() error { return errUnavailable }

func compile([]byte) (*module, error) { return nil, errUnavailable }

func (*module) run(instance) (int, error) { return 0, errUnavailable }
