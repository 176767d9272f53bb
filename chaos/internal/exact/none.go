//go:build !cgo

package exact

import "errors"

type module struct{}

var errUnavailable = errors.New("exact runs need cgo: install gcc, and leave CGO_ENABLED alone")

// Available returns nil, or why nothing can be played exactly here.
func Available() error { return errUnavailable }

func compile([]byte) (*module, error) { return nil, errUnavailable }

func (*module) run(instance) (int, error) { return 0, errUnavailable }
