//go:build !unix || aix

package wire

import "syscall"

// peek cannot check a socket on this system.
func peek(syscall.RawConn) linkState { return linkUnverified }
