// Package node is one Redis master: its connection, its pipe, and what it may be trusted with.
//
// A [Node] is asked with [Node.Submit] and answers every [Call] with exactly one [Vote], at the latest at the call's
// deadline. Behind that stand three mechanisms:
//
//   - The pipe (pipe.go). While one batch is on the wire, calls gather; when its replies are in, they leave together as
//     the next one, on one connection, in the order they came. So a release never overtakes its own acquire, and a
//     busy master costs a fraction of a round trip per call. A call whose asker has given up before it was written is
//     dropped. The vote's deadline is not the connection's: the asker leaves with Unknown, the connection stays, and
//     the release that the asker has queued by then goes out as soon as the late reply is in.
//   - Suspicion (suspect.go). A master that lets a deadline pass, refuses, or cannot be reached, is suspect: calls fail
//     at once instead of waiting for it, and one of them tries it again now and then. Releases are exempt: they wait
//     in the pipe until the master has answered them, and are repeated while something that they undo may still be on
//     its way in a connection that went silent (doubt.go).
//   - The restart guard (server.go). A master that came back empty would grant what it has granted before. Which server
//     process answers is asked once per connection, because no connection outlives the process; a grant to an
//     acquire counts only when the process is older than the window that the call names.
//
// The package knows Redis and knows nothing of majorities.
package node
