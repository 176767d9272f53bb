package traffic

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// The TTLs of the traffic. Locks of ShortTTL and TTL end and are lost often; those of LongTTL outlive the crash and
// return of a master.
const (
	ShortTTL = 500 * time.Millisecond
	TTL      = time.Second
	LongTTL  = 6 * time.Second
)

var (
	moment    = Span{0, 10 * time.Millisecond}
	shortHold = Span{5 * time.Millisecond, 150 * time.Millisecond}

	// The holds of most groups. Some of usual and of brief outlast a TTL.
	usual      = mostly(shortHold, Span{TTL, 2 * TTL}, 0.1)
	brief      = mostly(moment, Span{ShortTTL, 2 * ShortTTL}, 0.05)
	quick      = mostly(moment, shortHold, 0.2)
	overstayed = Hold{Usual: Span{Least: 8 * TTL / 5}}
)

func mostly(most, rare Span, chance float64) Hold { return Hold{most, rare, chance} }

// Groups are plain mutexes.
var Groups = []Group{
	// Extended while held, sometimes for much longer than a TTL.
	{Names: []string{"kept"}, TTL: TTL, Keepalive: true, Hold: mostly(shortHold, Span{TTL, 5 * TTL / 2}, 0.2)},
	// Never extended, held for a moment: as many acquisitions and releases as contention allows.
	{Names: []string{"plain"}, TTL: TTL, Hold: mostly(moment, Span{TTL / 2, TTL}, 0.02)},
	// Never extended and held for 1.6 times the TTL by everybody. The second holder comes after 1.0 TTL, the first one
	// unlocks at 1.6, while the second has 0.4 TTL to go: an unlock that does not look whose lock it removes lets a
	// third one in every time.
	{Names: []string{"overstayed"}, TTL: TTL, Careless: true, Hold: overstayed},
	// Held for seconds on a TTL of seconds, so that a master that forgets it within that time is noticed.
	{Names: []string{"long"}, TTL: LongTTL, Keepalive: true, Hold: mostly(shortHold, Span{TTL, 4 * TTL}, 0.4)},
}

// Mutexes are Groups, with the shortest TTL, with names without contention, and with what a lock without
// fencing protects.
var Mutexes = append(slices.Clone(Groups),
	Group{
		Names: []string{"brief"}, TTL: ShortTTL, Keepalive: true, Hold: mostly(moment, Span{ShortTTL, 2 * ShortTTL}, 0.1),
	},
	Group{Names: []string{"alone", "alone2"}, Own: true, TTL: ShortTTL, Hold: brief},
	Group{Names: []string{"trusted"}, TTL: TTL, Hold: usual, Register: history.Trusting},
)

// ReadersAndWriters read together and write alone. The overstayed ones are in for longer than their TTL.
var ReadersAndWriters = []Group{
	{Names: []string{"doc"}, Mode: ReadersWriters, Writers: 0.3, TTL: TTL, Keepalive: true, Hold: usual},
	{
		Names: []string{"doc-brief"}, Mode: ReadersWriters, Writers: 0.5, TTL: ShortTTL,
		Hold: brief, Register: history.Trusting,
	},
	{Names: []string{"doc-over"}, Mode: ReadersWriters, Writers: 0.4, TTL: TTL, Careless: true, Hold: overstayed},
	{
		Names: []string{"doc-fenced"}, Mode: ReadersWriters, Writers: 0.4, TTL: TTL, Keepalive: true,
		Fencing: true, Hold: usual, Register: history.Fenced,
	},
	{
		Names: []string{"doc-own"}, Own: true, Mode: ReadersWriters, Writers: 0.3, TTL: ShortTTL,
		Keepalive: true, Hold: quick,
	},
}

// Reentrants are locked again by who holds them.
var Reentrants = []Group{
	{
		Names: []string{"account"}, Mode: kinds.Reentrant, Owner: OwnerClient, Depth: 3, TTL: TTL, Keepalive: true,
		Hold: usual,
	},
	{
		Names: []string{"account-brief"}, Mode: kinds.Reentrant, Owner: OwnerWorker, Depth: 2, TTL: ShortTTL,
		Hold: mostly(shortHold, Span{ShortTTL / 2, ShortTTL}, 0.1), Register: history.Trusting,
	},
	{
		Names: []string{"account-over"}, Mode: kinds.Reentrant, Owner: OwnerWorker, Depth: 2, TTL: TTL, Careless: true,
		Hold: overstayed,
	},
	{
		Names: []string{"account-fenced"}, Mode: kinds.Reentrant, Owner: OwnerWorker, Depth: 2, TTL: TTL, Keepalive: true,
		Fencing: true, Hold: usual, Register: history.Fenced,
	},
	{
		Names: []string{"account-own"}, Own: true, Mode: kinds.Reentrant, Owner: OwnerClient, Depth: 2, TTL: ShortTTL,
		Keepalive: true, Hold: quick,
	},
}

// Severals are many names at once, in sets that overlap.
var Severals = []Group{
	{Names: []string{"from", "to", "fee"}, Mode: kinds.Several, TTL: TTL, Keepalive: true, Hold: usual},
	{
		Names: []string{"left", "right"}, Mode: kinds.Several, TTL: ShortTTL, Fencing: true,
		Hold: mostly(moment, Span{ShortTTL / 2, 2 * ShortTTL}, 0.05),
	},
	{Names: []string{"mine", "mine2"}, Own: true, Mode: kinds.Several, TTL: TTL, Hold: quick},
}

// Semaphores have fewer slots than there are workers that want one. The holders of the overstayed one are in for longer
// than their TTL.
var Semaphores = []Group{
	{Names: []string{"pool"}, Mode: kinds.Semaphore, Slots: 3, Workers: 2, TTL: TTL, Keepalive: true, Hold: usual},
	{Names: []string{"pool-brief"}, Mode: kinds.Semaphore, Slots: 2, Workers: 2, TTL: ShortTTL, Hold: brief},
	{
		Names: []string{"pool-over"}, Mode: kinds.Semaphore, Slots: 2, Workers: 2, TTL: TTL, Careless: true, Hold: overstayed,
	},
	{
		Names: []string{"pool-fenced"}, Mode: kinds.Semaphore, Slots: 2, Workers: 2, TTL: TTL, Keepalive: true, Fencing: true,
		Hold: usual,
	},
	// Holders that ask for different numbers of slots of one name exclude each other.
	{Names: []string{"pool-both"}, Mode: kinds.Semaphore, Slots: 2, TTL: TTL, Hold: mostly(moment, shortHold, 0.5)},
	{Names: []string{"pool-both"}, Mode: kinds.Semaphore, Slots: 3, TTL: TTL, Hold: mostly(moment, shortHold, 0.5)},
	{
		Names: []string{"pool-own"}, Own: true, Mode: kinds.Semaphore, Slots: 1, Workers: 2, TTL: ShortTTL, Keepalive: true,
		Hold: quick,
	},
}

// MinHold is the minimum hold of jobs: longer than their TTL, and shorter than the time after which no key may be left.
const MinHold = 3 * TTL / 2

// Jobs are held for a moment, and keep their names for longer. Some are held so long that they are extended.
var Jobs = []Group{
	{Names: []string{"job"}, MinHold: MinHold, TTL: TTL, Keepalive: true, Hold: mostly(moment, Span{TTL, 2 * TTL}, 0.5)},
	{
		Names: []string{"job-brief", "job-brief2"}, MinHold: MinHold / 2, TTL: ShortTTL, Fencing: true,
		Hold: mostly(moment, Span{ShortTTL, 2 * ShortTTL}, 0.1), Register: history.Fenced,
	},
	{Names: []string{"job-written"}, Mode: kinds.Writer, MinHold: MinHold, TTL: TTL, Keepalive: true, Hold: quick},
	{Names: []string{"job-owned"}, Mode: kinds.Reentrant, Owner: OwnerWorker, MinHold: MinHold, TTL: TTL, Hold: quick},
	{
		Names: []string{"job-from", "job-to", "job-fee"}, Mode: kinds.Several, MinHold: MinHold / 2, TTL: TTL,
		Keepalive: true, Hold: mostly(moment, Span{TTL, 2 * TTL}, 0.3),
	},
}

// Elections have leaders that write to a register under their terms. The careless ones write on after they were
// deposed.
var Elections = []Group{
	{
		Names: []string{"leader"}, Mode: kinds.Leader, TTL: TTL, Keepalive: true, Fencing: true,
		Hold: mostly(shortHold, Span{TTL, 3 * TTL}, 0.3), Register: history.Fenced,
	},
	{
		Names: []string{"leader-brief"}, Mode: kinds.Leader, TTL: ShortTTL, Fencing: true,
		Hold: mostly(moment, Span{ShortTTL, 2 * ShortTTL}, 0.1), Register: history.Fenced,
	},
	{
		Names: []string{"leader-over"}, Mode: kinds.Leader, TTL: TTL, Careless: true, Fencing: true, Hold: overstayed,
		Register: history.Fenced,
	},
	{
		Names: []string{"leader-long"}, Mode: kinds.Leader, TTL: LongTTL, Keepalive: true, Fencing: true,
		Hold: mostly(shortHold, Span{TTL, 4 * TTL}, 0.4), Register: history.Fenced,
	},
}

// FencedMutexes have fencing tokens. The overstayed one is where a register that does not look is hurt every time, and
// one that looks never.
var FencedMutexes = []Group{
	{Names: []string{"fenced"}, TTL: TTL, Keepalive: true, Fencing: true, Hold: usual, Register: history.Fenced},
	{Names: []string{"fenced-brief"}, TTL: ShortTTL, Fencing: true, Hold: brief, Register: history.Fenced},
	{Names: []string{"fenced-over"}, TTL: TTL, Careless: true, Fencing: true, Hold: overstayed, Register: history.Fenced},
	{Names: []string{"unfenced-over"}, TTL: TTL, Careless: true, Hold: overstayed, Register: history.Trusting},
	{Names: []string{"fenced-own"}, Own: true, TTL: ShortTTL, Fencing: true, Hold: quick, Register: history.Fenced},
}

// Everything is all of the lists together.
var Everything = slices.Concat(
	Mutexes, ReadersAndWriters, Reentrants, Severals, Semaphores, Jobs, Elections, FencedMutexes,
)
