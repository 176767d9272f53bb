//go:build unix && !aix

package node

import "syscall"

// endOfStream looks into a socket without taking anything out of it.
func endOfStream(raw syscall.RawConn) (over bool) {
	err := raw.Read(func(fd uintptr) bool {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		over = n == 0 && err == nil || err != nil && err != syscall.EAGAIN && err != syscall.EINTR
		return true
	})
	return over || err != nil
}
