//go:build !linux && !darwin

package history

import "time"

// Note is empty where times of several processes can be compared, and says what to beware of where not.
const Note = "this system has no monotonic clock that its processes share: events carry wall time, and a step of " +
	"the wall clock during the run makes the verdict worthless"

func machine() time.Duration { return time.Duration(time.Now().UnixNano()) }
