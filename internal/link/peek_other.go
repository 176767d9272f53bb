//go:build !unix || aix

package link

import "syscall"

// peek cannot check a socket on this system.
func peek(syscall.RawConn) State { return Unverified }
