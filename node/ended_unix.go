//go:build unix && !aix

package node

import "syscall"

// peek looks into a socket without taking anything out of it. Anything that can be read there is the end of the stream, or
// something that was not asked for.
func peek(raw syscall.RawConn) linkState {
	state := over
	err := raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		if err == syscall.EAGAIN || err == syscall.EINTR {
			state = usable
		}
		return true
	})
	if err != nil {
		return over
	}
	return state
}
