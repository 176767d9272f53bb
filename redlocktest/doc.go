// Package redlocktest gives unit tests the masters that a lock needs, without Docker and without a Redis.
//
// Code that takes a [redlock.Locker] needs one line:
//
//	locker := redlocktest.NewLocker(t, 5)
//
// To see what the code does when masters fail, let them fail:
//
//	locker, masters := redlocktest.StartLocker(t, 5)
//	masters[0].Stop()
//	masters[1].Freeze()
//
// To see what it does as time passes, run the test in a bubble of testing/synctest. A TTL of a minute then ends at
// once:
//
//	synctest.Test(t, func(t *testing.T) {
//		masters := redlocktest.StartVirtual(t, 5)
//		locker, err := redlock.Open(redlocktest.URLs(masters))
//		…
//		defer locker.Close()
//	})
//
// What the methods of a [Master] do, and what a Locker makes of it:
//
//	method        the master                                        its vote
//	Stop          crashes: refuses connections, forgets all data    missing
//	Start         comes back, empty                                 missing until the restart window has passed
//	Freeze        takes what it is sent, executes it after Thaw     missing after the node timeout
//	Thaw          goes on                                           back
//	Slow(d)       sends everything d later                          missing if d exceeds the node timeout
//	Refuse(text)  answers every command with that error             missing
//	Hold(name)    takes the name for somebody else                  no
//	Release(name) frees the name, whoever has it                    yes
//	Wipe          forgets all data, and nobody notices              yes, to a second holder, too
//
// A majority that is missing is [redlock.ErrNoQuorum]; a majority that says no is [redlock.ErrHeld].
//
// The masters run in the test's process. They know what the locks of this project ask of a Redis, and expire keys by
// the clock. They are doubles: with many thousand keys, or to measure anything, use real ones.
package redlocktest
