package waitqueue

// share returns how many permits of a lock this process takes without yielding to other processes. All processes that
// wait for permits have equal shares. Of a lock that one caller holds, no process has a share while others wait. others
// is how many others wait, and waits whether this one does: the others count only processes that wait. Readers do not
// yield: the intents of exclusive waiters keep them out instead.
func share(width, others int, waits bool) int {
	switch {
	case others == 0, width == Unbounded:
		return width
	case !waits:
		return 0
	}
	return width / (1 + others)
}

// rounds returns how often all permits must be held until each of the others has held one, at least once.
func rounds(width, others int) int { return max(1, (others+width-1)/width) }
