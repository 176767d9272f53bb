package controls

import (
	"slices"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// all has every control, those on real masters first.
var all = slices.Concat(onMasters, inSimulation)

// onMasters are controls of what only real masters show: keys, connections and goroutines that remain, and that a
// broken lock is noticed at all when processes use it.
var onMasters = []Control{
	{"no token compared", check.ByExclusion, "was held by two", "only-flush-scripts", 0},
	{"counters that never expire", check.ByResidue, "still holds ", "only-flush-scripts", 0},
	{"nothing closed", check.ByLeaks, "goroutines of it are left", "only-flush-scripts", 0},
	// The connection has no goroutine.
	{"connection left open", check.ByLeaks, "connections of clients", "only-flush-scripts", 0},
}

// inSimulation are played exactly: each is caught by the same schedule every time. Another program draws other orders,
// so each limit is several times the number that has been needed.
var inSimulation = []Control{
	{"majority less one", check.ByExclusion, "", "calm", 50},
	{"no drift budget", check.ByExclusion, "", "far away", 80},
	{"elapsed not subtracted", check.ByExclusion, "", "far away", 50},
	{"no token compared", check.ByExclusion, "", "calm", 20},
	{"no release after failure", check.ByResidue, "left on master", "ghosts", 20},
	{"restart guard off", check.ByExclusion, "", "rolling restarts", 50},
	{"duplicate servers allowed", check.ByExclusion, "", "twins", 50},
	{"healing counted at once", check.ByLossNotified, "all masters forgot", "all forgotten", 30},
	{"fencing without write-back", check.ByFencing, "", "split counters", 20},
	{"keepalive that ignores votes", check.ByExclusion, "", "islands", 30},
	{"lock handed over and released", check.ByExclusion, "", "calm", 60},
	{"keepalive that does not extend", check.ByLiveness, "in spite of its keepalive", "calm", 60},
	{"release before the deadline", check.ByExclusion, "", "far away", 50},
	{"deadline moved to the loss", check.ByExclusion, "was held by two", "far away", 50},
	// Nothing tells the holder. It unlocks when it is done.
	{"loss never notified", check.ByLossNotified, "was not notified ", "calm", 40},
	{"loss notified 100 ms late", check.ByLossNotified, "was notified of the loss only at", "far away", 20},
	{"fence raised without a token check", check.ByFencing, "", "split counters", 100},
	{"fence counted from one", check.ByFencing, "", "total loss", 60},
	{"new fence for each nested hold", check.ByFencing, "holds it already", "calm", 120},
	{"counters that never expire", check.ByResidue, "has no end", "calm", 20},
	{"one expiry for all readers", check.ByLiveness, "that was free from", "dead holders", 200},
	{"first of several names only", check.ByExclusion, "", "calm", 150},
	{"readers admitted despite a writer", check.ByExclusion, "", "calm", 100},
	{"election without fencing", check.ByFencing, "", "calm", 50},
	{"job lock deleted at its end", check.ByMinHold, "", "calm", 40},
	{"minimum hold of mutexes only", check.ByMinHold, "", "calm", 100},
	{"permits kept until their TTL", check.ByLiveness, "that was free from", "dead holders", 60},
	{"slots counted by each master", check.BySlots, "holders of", "paused clients", 80},
	{"one slot for two permits", check.BySlots, "both had slot", "calm", 50},
	{"slot without a majority", check.BySlots, "", "paused clients", 120},
	{"context that outlives Unlock", simulation.ByContract, "outlives its Unlock", "calm", 20},
	{"fencing token not returned", simulation.ByContract, "the fencing token is 0", "calm", 20},
	{"neither lock nor error", simulation.ByContract, "neither lock nor error", "calm", 20},
	{"unlock that takes seconds", check.ByLiveness, "Unlock took", "calm", 20},
	{"writer that lets readers in", check.ByExclusion, "", "calm", 100},
	{"any owner is the same", check.ByExclusion, "", "calm", 50},
	{"owner is a stranger to itself", check.ByLiveness, "was refused to", "dead holders", 50},
	{"lock without a TTL", check.ByLiveness, "did not acquire", "only-kill-client-holding", 40},
	// A late holder overwrites the value of the next holder, which has the same fencing token.
	{"fence that is always 1", check.ByRegister, "an update is lost", "fenced", 40},
	// A late holder presents a larger token than the next holder, so the register takes its write.
	{"new fence for each request", check.ByRegister, "an update is lost", "fenced", 40},
	// A deposed leader presents the term of its successor, so the register takes its write.
	{"term looked up for each write", check.ByRegister, "the register took a write of ", "elections", 40},
	// Holders of three slots come in together with holders of two. No number of slots is exceeded by holders who asked
	// for that number.
	{"number of slots not compared", check.BySlots, "holders of 2 slots", "semaphores", 40},
	{"pauses of 50 µs", simulation.ByLoad, "", "calm", 20},
	{"pauses of a millisecond", simulation.ByLoad, "", "calm", 20},
}
