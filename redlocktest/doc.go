// Package redlocktest provides in-process masters for unit tests of code that uses redlock. It needs neither Docker nor
// Redis.
//
// Code that takes a [redlock.Locker] needs one line:
//
//	locker := redlocktest.NewLocker(t, 5)
//
// To test what the code does when masters fail, make them fail:
//
//	locker, masters := redlocktest.StartLocker(t, 5)
//	masters[0].Stop()
//	masters[1].Freeze()
//
// To test what it does as time passes, run the test in a bubble of testing/synctest. A TTL of a minute then takes no
// real time. Call these functions with the t of the bubble:
//
//	synctest.Test(t, func(t *testing.T) {
//		locker := redlocktest.NewLocker(t, 5)
//		…
//	})
//
// The methods of a [Master], and how the master then votes on a lock:
//
//	method           what the master does                              its vote
//	Stop             crashes: refuses connections, loses all data      none
//	Start            restarts empty                                    none until the restart window has passed
//	Freeze           receives commands but executes them after Thaw    none within the node timeout
//	Thaw             resumes                                           as before
//	Slow(d)          delays everything that it sends by d              none if d exceeds the node timeout
//	Refuse(text)     answers every command with that error             none
//	Hold(name, ttl)  holds the name for another client                 denied
//	Release(name)    frees the name from any holder                    granted
//	Wipe             loses all data without a trace                    granted, even to a second holder
//
// If a majority has no vote, a Locker returns [redlock.ErrNoQuorum]. If a majority denies, it returns
// [redlock.ErrHeld].
//
// The masters run in the test's process. They implement the Redis commands that redlock uses, and expire keys by the
// clock. They are test doubles: use real masters for benchmarks and for many thousands of keys.
package redlocktest
