package wire

import (
	"math/rand/v2"
	"time"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/node"
)

// The URL of a load balancer, or a name with several IP addresses, leads each connection to another server. Clients
// whose connections reach different servers could hold one lock at the same time. So once it is known that connections
// to the URL reach several servers, none of them has a vote here.
//
// The node compares the run ids that its connections read: those for requests, the subscription, and one that it makes
// only for that purpose when it connects to a server for the first time. A server that restarted has another run id,
// too. So two run ids prove nothing if the first server may have ended before the second one answered. They prove it if
// the first server answers again after the second one. To find out, the node asks for the run id over its open
// connection, ahead of the next batch.
//
// The node cannot notice a load balancer that leads all of its connections to one server.

const (
	// comparisons bounds the connections that the node makes for one comparison.
	comparisons = 4
	// The first batch waits for the comparison: at most compareWait, less if its calls are due sooner, but at least
	// compareWaitMin. It does not wait if it took longer than compareWait to connect.
	compareWait    = 50 * time.Millisecond
	compareWaitMin = 20 * time.Millisecond
	// The node checks whether a URL still leads to several servers after severalMin, then at doubling intervals up to
	// severalMax, each shortened by up to a half at random: while requests are made, and after a check that has reached
	// one server.
	severalMin = 500 * time.Millisecond
	severalMax = 8 * time.Second
	// A check makes up to agreeing connections. The node believes that there is only one server when all of them have
	// reached it, in agreeingChecks checks in a row. A load balancer that serves two clients in turn may show each of
	// them one server for a while.
	agreeing       = 8
	agreeingChecks = 3
)

// servers is what a pipe knows of the servers that connections to its address have reached.
type servers struct {
	several  *node.SeveralServersError // the proof that there are several; nil: none
	seen     [2]seenServer             // the one that was seen last, and another: main if it was seen before
	main     string                    // the run id of the server of the pipe's connection; "": unknown
	doubt    bool                      // the last one that was seen is not main: ask the connection for its run id
	compared string                    // the run id that was main when the node compared the servers

	checking bool          // a goroutine checks whether there are still several
	only     string        // the only server that the last check has reached; "": it has reached several, or none
	agreed   int           // how many checks in a row have reached only that server
	oneSince time.Time     // when agreeingChecks in a row had
	retryAt  time.Time     // when the next check is due
	backoff  time.Duration // between two checks
}

// seenServer is a server with its last observation.
type seenServer struct {
	link.Observation
	since time.Time // the end of its first observation
}

// setMain records the server of the pipe's connection.
func (s *servers) setMain(runID string) {
	s.main = runID
	s.setDoubt()
}

// claimComparison reports whether the server of the pipe's connection has not been compared yet with that of another
// connection, and records that it is now.
func (s *servers) claimComparison() bool {
	must := s.main != "" && s.main != s.compared
	if must {
		s.compared = s.main
	}
	return must
}

// see records an observation over any connection.
func (s *servers) see(x link.Observation) {
	switch x.RunID {
	case "":
		return
	case s.seen[0].RunID:
	case s.seen[1].RunID:
		s.seen[0], s.seen[1] = s.seen[1], s.seen[0]
	default:
		kept := s.seen[0]
		if s.main != "" && s.seen[1].RunID == s.main {
			kept = s.seen[1]
		}
		s.seen[0], s.seen[1] = seenServer{since: x.Answered}, kept
	}
	this, other := &s.seen[0], &s.seen[1]
	this.Observation = x
	// This server answered before the other one was asked, and again after the other one had answered: neither has
	// replaced the other.
	if s.several == nil && other.RunID != "" && this.since.Before(other.Asked) && !x.Asked.Before(other.Answered) {
		s.several = &node.SeveralServersError{RunIDs: [2]string{this.RunID, other.RunID}}
		s.only, s.agreed, s.backoff = "", 0, severalMin
		s.retryAt = x.Answered.Add(shortened(s.backoff))
	}
	s.setDoubt()
}

// setDoubt sets doubt if the latest server that was seen is not that of the pipe's connection.
func (s *servers) setDoubt() {
	s.doubt = s.several == nil && s.main != "" && s.seen[0].RunID != "" && s.seen[0].RunID != s.main
}

// due reports whether the node must check whether there are still several servers.
func (s *servers) due(now time.Time) bool {
	return s.several != nil && !s.checking && !now.Before(s.retryAt)
}

// endCheck records that a check ended: with the only server that it reached, or "" if there are several, or if it
// failed. It reports whether there is only one server.
func (s *servers) endCheck(runID string, now time.Time) (one bool) {
	s.checking = false
	switch {
	case runID == "":
		s.agreed, s.backoff = 0, min(2*s.backoff, severalMax)
	case runID != s.only:
		s.agreed, s.backoff = 1, severalMin
	default:
		s.agreed++
	}
	s.only, s.retryAt = runID, now.Add(shortened(s.backoff))
	if s.agreed < agreeingChecks {
		return false
	}
	s.several, s.seen[1], s.oneSince = nil, seenServer{}, now
	return true
}

// gone reports whether a connection that was begun at began leads to a server that the address no longer leads to: the
// checks that ended since then have agreed on another one.
func (s *servers) gone(runID string, began time.Time) bool {
	return s.several == nil && s.only != "" && runID != s.only && began.Before(s.oneSince)
}

// shortened returns d, shortened by up to a half at random.
func shortened(d time.Duration) time.Duration { return d - rand.N(d/2) }
