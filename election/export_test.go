package election

import "github.com/redlock-go/redlock"

// Record records a leadership as Campaign does when it returns.
func (e *Election) Record(l *Leadership) { e.record(l) }

// SharedReadings returns how many shared readings a Locker has.
func SharedReadings(l *redlock.Locker) (n int) {
	sharedReadings.Lock()
	defer sharedReadings.Unlock()
	for key := range sharedReadings.of {
		if key.locker == l {
			n++
		}
	}
	return n
}
