// Package wire is the client's side of one Redis master.
//
// Users describe a master with package node; [New] makes the [Node] that talks to it. Package quorum submits calls to
// it, package redlock reads its [Stats], and package doctor uses its connections.
//
// # How it works
//
// A [Node] answers each [Request] with exactly one [Vote], at the latest at the request's deadline, or later by its
// Connect. It knows nothing of majorities.
//
//   - The pipe sends requests in the order of their submission over one connection, so a release never overtakes its
//     acquire. While a batch is on the wire, further requests gather and leave as the next batch. A request whose
//     caller gave up before it was written is dropped. When the deadline of a written request passes, the caller gets
//     [Unknown], but the connection remains open: the late reply is read, and the release follows at once.
//   - Other connections exist at times: a spare one, which shows whether a silent master still works and repeats
//     releases; one for release messages; and short ones that show which server the address leads to.
//   - The master is suspect if no connection to it can be made, if a connection ends before it has carried an answer,
//     if a reply is not one of its operation, or if it was silent for half of the time of a request whose deadline has
//     passed. Requests to it then fail at once, except that one is sent from time to time to try it. Releases wait
//     until the master has answered. They are repeated while a late delivery of what they undo is possible.
//   - The restart guard decides which grants count. A master that restarted empty would grant a lock twice. So a grant
//     counts only if the server process has been up for longer than the request's window. The node identifies the
//     process once per connection, because a connection ends with the process, unless a proxy keeps it open.
//
// # How it is built
//
// The parts that decide need no goroutine, no lock and no clock. The [core] has a method for each event. Its parts are:
//
//   - the two connections, each with a table of states ([connState], [spareState]), and what the goroutine of each one
//     does next: [driver], [spare];
//   - the calls: [inflight] has those that wait or have no reply yet, [outbox] those that must be sent again;
//   - what it knows of the master: [health], [pacing], [lateDelivery], [rights], [servers]. A [settlement] of replies
//     reads and changes it.
//
// The [pipe] guards the core with its mutex, and acts. The [listener] is separate: it subscribes to messages. The
// connections themselves are in package link.
package wire
