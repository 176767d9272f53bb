// Package node describes the masters of a redlock.Locker.
//
// A program makes its masters with [Open] or [Wrap] and passes them to redlock.New. A call's error may match one of the
// errors of this package; [Permanent] reports whether only an operator can fix its cause.
package node
