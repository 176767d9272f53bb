//go:build unix && !aix

package link

import "syscall"

// peek checks a socket without consuming data. Anything that can be read there is the end of the stream, or data that
// belongs to no command.
func peek(raw syscall.RawConn) State {
	state := Ended
	err := raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		if err == syscall.EAGAIN || err == syscall.EINTR {
			state = Usable
		}
		return true
	})
	if err != nil {
		return Ended
	}
	return state
}
