// Package kind says what a lock is on one master: which kinds of locks there are, which keys each of them uses, which
// operations acquire, extend, release and read it, and what the masters' replies mean. It knows nothing of quorums,
// deadlines and waiters. The other packages look up how kinds differ in the table [All].
package kind

// A Kind is one kind of lock. Everything in which kinds differ is a field of it.
type Kind struct {
	// Name is the kind's name on the masters and in the public API.
	Name string
	// Sharing says which holds of the kind may be on a name at the same time. Holds of two kinds never are.
	Sharing Sharing
	// Layout says which keys a hold is stored in.
	Layout Layout
	// Intents says where a waiter of the kind leaves its intent, which keeps new readers out.
	Intents Intents
	// KeptOut reports whether the intents of waiters keep new holds of the kind out.
	KeptOut bool
	// HandsOver reports whether a Locker may hand a lock of the kind over to its next waiter.
	HandsOver bool
}

// Sharing says which holds of a kind may be on a name at the same time.
type Sharing uint8

// The values of [Kind.Sharing].
const (
	Alone     Sharing = iota // one hold
	WithOwner                // the holds of one owner
	WithAll                  // any number of holds
	BySlot                   // one hold in each slot, of which the claims of a name must agree on the number
)

// Layout says which keys a hold is stored in.
type Layout uint8

// The values of [Kind.Layout].
const (
	PlainKey Layout = iota // a string key for each name, whose value is the token
	Entries                // an entry of a sorted set at the name, with an expiry of its own
	Permits                // an entry that also has a slot
)

// Intents says where a waiter leaves its intent.
type Intents uint8

// The values of [Kind.Intents].
const (
	IntentNever     Intents = iota
	IntentAtReaders         // at names that readers hold
	IntentAlways            // at every name
)

// The kinds.
var (
	Mutex     = &Kind{Name: "mutex", Sharing: Alone, Layout: PlainKey, Intents: IntentAtReaders, HandsOver: true}
	Reader    = &Kind{Name: "reader", Sharing: WithAll, Layout: Entries, Intents: IntentNever, KeptOut: true}
	Writer    = &Kind{Name: "writer", Sharing: Alone, Layout: Entries, Intents: IntentAlways}
	Reentrant = &Kind{Name: "reentrant", Sharing: WithOwner, Layout: Entries, Intents: IntentAtReaders}
	Semaphore = &Kind{Name: "semaphore", Sharing: BySlot, Layout: Permits, Intents: IntentNever, HandsOver: true}
)

// All are all kinds.
var All = []*Kind{Mutex, Reader, Writer, Reentrant, Semaphore}

// foreign is the kind of a key of another client.
var foreign = &Kind{}

// Named returns the kind with a name. For the type of a foreign key it returns a kind without a name.
func Named(name string) *Kind {
	for _, k := range All {
		if k.Name == name {
			return k
		}
	}
	return foreign
}

// SharedByAll reports whether any number of holds of the kind may be on a name.
func (k *Kind) SharedByAll() bool { return k.Sharing == WithAll }

// Nested reports whether an owner may hold a lock of the kind several times.
func (k *Kind) Nested() bool { return k.Sharing == WithOwner }

// Slotted reports whether a name has slots, with one hold of the kind in each.
func (k *Kind) Slotted() bool { return k.Sharing == BySlot }

// NeedsSiblingKeys reports whether every operation of the kind uses the sibling keys of the name.
func (k *Kind) NeedsSiblingKeys() bool { return k.Layout == Entries }

// AcquireRemovesIntent reports whether acquiring a lock of the kind removes the waiter's intent.
func (k *Kind) AcquireRemovesIntent() bool { return k.Layout == Entries }
