//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// link is one end of the socket between redlock and its supervisor. No other process has an end of it, so a process
// reads end of file when the other one has died for any reason.
type link struct {
	fd   int
	file *os.File
	from *bufio.Reader
}

// message is a line on a link: an order or an event, and its number.
type message struct {
	verb string
	n    int64
}

// The orders of redlock to its supervisor.
const (
	sendSignal = "signal" // n: send this signal to the command's group
	stopTree   = "stop"   // end the command and all that it started
	holdsLock  = "holds"  // n: until this instant, unless the order is repeated
)

// The events that the supervisor reports to redlock.
const (
	hasStarted  = "started" // n: the command's pid, which is also its group
	cannotStart = "failed"  // n: the errno of the exec
	cameTooLate = "late"    // the lock had ended before the command was started; the supervisor ends
	hasHeard    = "heard"   // the answer to holdsLock
	hasStopped  = "stopped" // n: the command was suspended by this signal
	hasExpired  = "expired" // redlock did not extend the lock: the command is being ended
	hasExited   = "exited"  // n: its exit status; the supervisor ends
	wasEndedBy  = "killed"  // n: the signal; the supervisor ends
)

// newLink returns redlock's end of a link, and the descriptor of the other end.
func newLink() (ours *link, theirs int, err error) {
	syscall.ForkLock.RLock()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(pair[0])
		unix.CloseOnExec(pair[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, -1, os.NewSyscallError("socketpair", err)
	}
	return openLink(pair[0]), pair[1], nil
}

// openLink returns a link on a descriptor. close ends a read that is in progress.
func openLink(fd int) *link {
	_ = unix.SetNonblock(fd, true)
	f := os.NewFile(uintptr(fd), "link")
	return &link{fd: fd, file: f, from: bufio.NewReader(f)}
}

// send reports whether the other process may have received the message.
func (l *link) send(verb string, n int64) bool {
	_, err := fmt.Fprintf(l.file, "%s %d\n", verb, n)
	return err == nil
}

// receive waits for a message. ok is false if the other process has ended.
func (l *link) receive() (m message, ok bool) {
	line, err := l.from.ReadString('\n')
	if err != nil {
		return message{}, false
	}
	_, err = fmt.Sscanf(line, "%s %d", &m.verb, &m.n)
	return m, err == nil
}

// broken reports whether the other process has ended.
func (l *link) broken() bool {
	poll := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
	n, err := unix.Poll(poll, 0)
	return err == nil && n == 1 && poll[0].Revents&unix.POLLHUP != 0
}

func (l *link) close() { _ = l.file.Close() }
