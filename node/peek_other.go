//go:build !unix || aix

package node

import "syscall"

// peek cannot check a socket on this system.
func peek(syscall.RawConn) linkState { return linkUnverified }
