// Package link makes the connections to one Redis master: for requests ([Link]), for messages ([Subscription]), and for
// single commands ([Connection]). They go over a network connection of their own, with a handshake and a decoder that
// trust nothing that the server sends, or over the go-redis client of a user.
//
// The package knows nothing of locks, votes and deadlines of requests. It reports which server it reached, and of each
// command whether it was answered, certainly not sent, or perhaps executed.
package link
