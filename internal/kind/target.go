package kind

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redlock-go/redlock/internal/names"
)

// The bounds of what is sent to the masters. Servers and proxies close a connection at a request that is too large, and
// a long name slows down all locks that share its connections.
const (
	maxName  = 4096 // bytes
	maxNames = 256  // names of one LockAll

	MaxSlots = 1024 // of a semaphore
	MaxOwner = 1024 // bytes
	MaxToken = 4096 // bytes, for Release; a token of a Locker has at most MaxOwner + 33
)

// Target is what a caller wants to lock, and how.
type Target struct {
	Kind  *Kind
	Names []string // one; of a LockAll several, sorted
	Owner string   // the owner of the lock, if it is not the Locker's
	Slots int      // the number of slots of a semaphore; 0 for every other kind
}

// Title is what Lock.Name and traces call the target. Errors and logs show what [names.List] returns.
func (t Target) Title() string { return strings.Join(t.Names, ",") }

// Check returns an error if the target cannot be locked. Nothing has been sent by then.
func (t Target) Check() error {
	if len(t.Names) == 0 {
		return errors.New("redlock: the list of names is empty")
	}
	if len(t.Names) > maxNames {
		return fmt.Errorf("redlock: %d names: one lock may have at most %d", len(t.Names), maxNames)
	}
	for _, name := range t.Names {
		if name == "" {
			return errors.New("redlock: the lock's name is empty")
		}
		if len(name) > maxName {
			return fmt.Errorf("redlock: %s has %d bytes: it may have at most %d", t.which(name), len(name), maxName)
		}
		if strings.HasPrefix(name, "redlock:fence:") || strings.HasPrefix(name, "redlock:intents:") {
			return fmt.Errorf("redlock: %s is taken: "+
				"those that begin with redlock:fence: or redlock:intents: are for the keys of locks", t.which(name))
		}
	}
	if t.Kind.Nested() && t.Owner == "" {
		return errors.New("redlock: the owner is empty: give all callers that may share the lock one name")
	}
	if t.Kind.Slotted() && (t.Slots < 1 || t.Slots > MaxSlots) {
		return fmt.Errorf("redlock: a semaphore with %d slots: it must have from 1 to %d", t.Slots, MaxSlots)
	}
	return CheckOwner(t.Owner)
}

// which returns how an error refers to a name of the target. If there is only one name, the error shows it elsewhere.
func (t Target) which(name string) string {
	if len(t.Names) == 1 {
		return "the name"
	}
	return fmt.Sprintf("the name %q", names.Truncate(name))
}

// CheckHashSlots returns an error if a Cluster among the masters keeps the target's keys in several hash slots. cluster
// is the address of that master.
func (t Target) CheckHashSlots(cluster string, fencing bool) error {
	if len(t.Names) == 1 && !fencing && !t.Kind.NeedsSiblingKeys() {
		return nil // one key
	}
	return CheckHashSlots(cluster, t.Names)
}
