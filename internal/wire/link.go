package wire

// link carries commands to one master, in order, and the replies back. One goroutine at a time writes to it, and one
// reads.
type link interface {
	// put adds an encoded command to the buffer that flush sends.
	put(command []byte)
	// flush sends the buffer. After an error the link has ended, and receive reports what became of the commands.
	flush() error
	// receive waits for at least one reply and returns all that have arrived, in the order of the commands. An error
	// means that the link has ended and that there will be no more replies. The slice is valid until the next receive.
	receive() ([]reply, error)
	// state reports whether commands may be sent. It does not block. It may be called only while no reply is
	// outstanding.
	state() linkState
	// verify sends a PING. receive returns its reply like that of any command. An error means the same as one of flush.
	verify() error
	// streams reports whether more may be sent while replies are outstanding.
	streams() bool
	// server returns the identity of the server that sent the latest replies.
	server() *Server
	// change records that the server has another role, or is another one. It is s from now on.
	change(s *Server)
	// close ends the link at once, even while flush or receive runs. The kernel discards what it has not sent.
	close()
}

// linkState is the state of a link on which no reply is outstanding.
type linkState uint8

const (
	linkUsable     linkState = iota
	linkUnverified           // it was idle and the server may have closed it: verify must come before commands
	linkEnded                // it has ended
)

// reply is what became of one command.
type reply struct {
	result result
	value  any   // answered: the reply, unless it is an error
	err    error // answered: the error reply; otherwise the reason why there is no reply
}

// result is the kind of a reply.
type result uint8

const (
	answered result = iota // the master replied, perhaps with an error
	notSent                // the master has certainly not received the command
	inDoubt                // the master may have executed the command, or may yet do so
)
