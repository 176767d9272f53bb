package election

// Record records a leadership as Campaign does when it returns.
func (e *Election) Record(l *Leadership) { e.record(l) }
