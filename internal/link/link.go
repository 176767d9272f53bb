package link

// Link carries commands to one master, in order, and the replies back. One goroutine at a time writes to it, and one
// reads.
type Link interface {
	// Put adds an encoded command to the buffer that Flush sends.
	Put(command []byte)
	// Flush sends the buffer. After an error the link has ended, and Receive reports what became of the commands.
	Flush() error
	// Receive waits for at least one reply and returns all that have arrived, in the order of the commands. An error
	// means that the link has ended and that there will be no more replies. The slice is valid until the next Receive.
	Receive() ([]Reply, error)
	// State reports whether commands may be sent. It does not block. It may be called only while no reply is
	// outstanding.
	State() State
	// Verify sends a PING. Receive returns its reply like that of any command. An error means the same as one of Flush.
	Verify() error
	// Streams reports whether more may be sent while replies are outstanding, and the role of the server is to be asked
	// for now and then. A link that never streams asks for the server's identity by itself, with each batch.
	Streams() bool
	// Server returns the identity of the server that sent the latest replies.
	Server() *Server
	// Change records that the server has another role, or is another one: s. It includes Replace. A wrapped client finds
	// that out by itself.
	Change(s *Server)
	// Replace makes the next commands go over another connection. It has no effect on a wrapped client.
	Replace()
	// Close ends the link at once, even while Flush or Receive runs. The kernel discards what it has not sent.
	Close()
}

// State is the state of a [Link] on which no reply is outstanding.
type State uint8

// The states.
const (
	Usable     State = iota
	Unverified       // it was idle and the server may have closed it: Verify must come before commands
	Ended            // it has ended
)

// Reply is what became of one command.
type Reply struct {
	Result Result
	Value  any   // Answered: the reply, see [resp.Read], unless it is an error
	Err    error // Answered: the error reply; otherwise the reason why there is no reply
}

// Result is the kind of a [Reply].
type Result uint8

// The results.
const (
	Answered Result = iota // the master replied, perhaps with an error
	NotSent                // the master has certainly not received the command
	InDoubt                // the master may have executed the command, or may yet do so
)
