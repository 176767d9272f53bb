// Package resp reads and writes the Redis protocol (RESP2): [AppendCommand] and [Read] are the side of a client,
// [ReadCommand] is that of a server.
package resp
