package node

import "time"

// A server, or a box in between, closes connections that are idle. Where one can look into the socket the end shows there.
// Any other connection is verified after it was idle: it carries a PING, alone, while the calls wait in the queue. If it has
// ended, the calls go over the next one, and none of them is in doubt. If it is silent, what holds for any silence holds here:
// the calls expire unsent, the master becomes suspect, and a probe tries a new connection.

// ping is the operation that verifies a link.
var ping = Command("ping", func(any) Vote { return grant() }, "ping")

// verifying reports whether the wire carries a PING.
func (p *pipe) verifying() bool { return len(p.wire) > 0 && p.wire[0].Op == ping }

// verify has the link carry a PING. It is called with the pipe's mutex, and returns without it.
func (p *pipe) verify(now time.Time) {
	p.wire = append(p.wire, &Call{Request: Request{Op: ping, Asked: now}, f: flight{voted: true, sent: now}}) // nobody waits for its vote
	l := p.link
	p.sender, p.left = l, now
	p.mu.Unlock()
	p.written(l, l.verify())
}
