package faults

import "slices"

// Side says what a fault hits.
type Side string

const (
	// Masters are hit.
	Masters Side = "masters"
	// Clients are hit.
	Clients Side = "clients"
)

// Traits are what plans and tables need to know of a fault.
type Traits struct {
	// Name is what it is called, and About says what it is, in a line.
	Name, About string
	// On says what its targets are.
	On Side
	// Instant: it is over as soon as it has happened. Heal has nothing to do.
	Instant bool
	// Mute: a master cannot be counted on to vote while it lasts.
	Mute bool
	// Restarts: a healed master is another process, whose uptime starts at zero: the restart guard keeps it from
	// voting for a restart window.
	Restarts bool
	// Forgets: a healed master is empty, or knows less than it did.
	Forgets bool
	// Outlasts: it does what it is meant to do only if it lasts longer than a TTL.
	Outlasts bool
	// NeedsPeer: another master must be healthy when it is injected.
	NeedsPeer bool
	// Breaks is the assumption of the lock that does not hold while a master has the fault, and for a TTL after; "" if all
	// do.
	Breaks string
}

// The assumptions that faults break.
const (
	assumesClocks = "within a TTL, the clock of a master gains and loses no more than the drift budget"
	assumesMemory = "a master forgets nothing unless it restarts"
	assumesAlone  = "a master forgets nothing unless it restarts, and has no other master's votes"
)

// The names of the faults.
const (
	KillMaster     = "kill-master"
	KillMasterKept = "kill-master-kept"
	KillMasterTail = "kill-master-tail"
	PauseMaster    = "pause-master"

	FlushAll        = "flush-all"
	FlushScripts    = "flush-scripts"
	KillConnections = "kill-connections"
	OutOfMemory     = "out-of-memory"
	EvictLocks      = "evict-locks"
	FollowMaster    = "follow-master"

	ClockForward = "clock-forward"
	ClockBack    = "clock-back"
	ClockFast    = "clock-fast"
	ClockDrift   = "clock-drift"

	SlowLink      = "slow-link"
	JitteryLink   = "jittery-link"
	TricklingLink = "trickling-link"
	ResettingLink = "resetting-link"
	CutLink       = "cut-link"
	SilentLink    = "silent-link"
	LostCommands  = "lost-commands"
	LostAnswers   = "lost-answers"

	BlackHole         = "black-hole"
	BlackHoleCommands = "black-hole-commands"
	BlackHoleAnswers  = "black-hole-answers"
	Unplug            = "unplug"

	KillClient          = "kill-client"
	KillClientHolding   = "kill-client-holding"
	KillClientAcquiring = "kill-client-acquiring"
	KillClientReleasing = "kill-client-releasing"
	FreezeClient        = "freeze-client"
	FreezeClientHolding = "freeze-client-holding"
	DriftClient         = "drift-client"
)

var catalog = []Traits{
	{Name: KillMaster, On: Masters, Mute: true, Restarts: true, Forgets: true, About: "SIGKILL; it comes back empty"},
	{Name: KillMasterKept, On: Masters, Mute: true, Restarts: true, About: "SIGKILL; with appendfsync always, it comes back with all that it had"},
	{Name: KillMasterTail, On: Masters, Mute: true, Restarts: true, Forgets: true, About: "SIGKILL; with appendfsync everysec, it comes back without the last second of its writes"},
	{Name: PauseMaster, On: Masters, Mute: true, About: "frozen: connections stay open and silent; then it does all that was asked meanwhile"},

	{Name: FlushAll, On: Masters, Instant: true, Forgets: true, About: "FLUSHALL", Breaks: assumesMemory},
	{Name: FlushScripts, On: Masters, Instant: true, About: "SCRIPT FLUSH: EVALSHA finds nothing"},
	{Name: KillConnections, On: Masters, Instant: true, About: "CLIENT KILL of every connection, subscriptions too"},
	{Name: OutOfMemory, On: Masters, Mute: true, About: "out of memory with noeviction: writes are refused, deletions are not"},
	{Name: EvictLocks, On: Masters, Forgets: true, Outlasts: true, About: "out of memory with allkeys-lru, under a stream of junk: locks are evicted", Breaks: assumesMemory},
	{Name: FollowMaster, On: Masters, Mute: true, Forgets: true, NeedsPeer: true, About: "REPLICAOF another master: its own locks are gone, and promoted again it has the other's", Breaks: assumesAlone},

	{Name: ClockForward, On: Masters, Instant: true, About: "its wall clock jumps forward by 10 s, and stays there: keys expire early", Breaks: assumesClocks},
	{Name: ClockBack, On: Masters, Mute: true, About: "its wall clock jumps back by 10 s, and healed forward again: keys live on, then expire early", Breaks: assumesClocks},
	{Name: ClockFast, On: Masters, Outlasts: true, About: "its wall clock gains half a second a second", Breaks: assumesClocks},
	{Name: ClockDrift, On: Masters, Outlasts: true, About: "its wall clock gains 5 ms a second, half the drift budget"},

	{Name: SlowLink, On: Masters, Mute: true, About: "answers come 300 ms late; commands take effect at once"},
	{Name: JitteryLink, On: Masters, Mute: true, About: "commands and answers take 0 to 150 ms each"},
	{Name: TricklingLink, On: Masters, Mute: true, About: "a few bytes at a time, milliseconds apart"},
	{Name: ResettingLink, On: Masters, Mute: true, About: "connections are accepted, and reset at their first command"},
	{Name: CutLink, On: Masters, Mute: true, About: "connections break, new ones are refused; the master lives on with its data"},
	{Name: SilentLink, On: Masters, Mute: true, About: "silence both ways; what was sent is lost, and healed, its connections break"},
	{Name: LostCommands, On: Masters, Mute: true, About: "no command arrives; healed, connections break"},
	{Name: LostAnswers, On: Masters, Mute: true, About: "commands take effect and no answer comes; healed, connections break"},

	{Name: BlackHole, On: Masters, Mute: true, About: "packets dropped both ways in the container's network; connections live on, and what was sent arrives late"},
	{Name: BlackHoleCommands, On: Masters, Mute: true, About: "packets to the master dropped; connections live on"},
	{Name: BlackHoleAnswers, On: Masters, Mute: true, About: "packets from the master dropped: on open connections commands take effect, answers come late"},
	{Name: Unplug, On: Masters, Mute: true, About: "the container is off its network: no way to it; it lives on with its data"},

	{Name: KillClient, On: Clients, About: "SIGKILL of a client process, whatever it does; another life begins"},
	{Name: KillClientHolding, On: Clients, About: "SIGKILL while it holds a lock"},
	{Name: KillClientAcquiring, On: Clients, About: "SIGKILL while it asks for a lock"},
	{Name: KillClientReleasing, On: Clients, About: "SIGKILL while it gives a lock back"},
	{Name: FreezeClient, On: Clients, Outlasts: true, About: "SIGSTOP for longer than a TTL; then it continues as if nothing had happened"},
	{Name: FreezeClientHolding, On: Clients, Outlasts: true, About: "SIGSTOP inside the critical section, for longer than a TTL"},
	{Name: DriftClient, On: Clients, Outlasts: true, About: "its clock gains 5 ms a second, or loses as much (every second client), half the drift budget; healed, it keeps what it gained"},
}

// Catalog returns the traits of every fault that there is, those of masters first.
func Catalog() []Traits { return slices.Clone(catalog) }

// Lookup returns the traits of the fault of that name.
func Lookup(name string) (Traits, bool) {
	i := slices.IndexFunc(catalog, func(t Traits) bool { return t.Name == name })
	if i < 0 {
		return Traits{}, false
	}
	return catalog[i], true
}
