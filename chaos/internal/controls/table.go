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
	{"no token compared", check.ByExclusion, "was held by two", real("only-flush-scripts")},
	{"counters that never expire", check.ByResidue, "still holds ", real("only-flush-scripts")},
	{"nothing closed", check.ByLeaks, "goroutines of it are left", real("only-flush-scripts")},
	// The connection has no goroutine.
	{"connection left open", check.ByLeaks, "connections of clients", real("only-flush-scripts")},
}

// inSimulation are played exactly: each is caught by the same schedule every time.
var inSimulation = []Control{
	{"majority less one", check.ByExclusion, "", simulated{"calm", 50}},
	{"no drift budget", check.ByExclusion, "", simulated{"far away", 80}},
	{"elapsed not subtracted", check.ByExclusion, "", simulated{"far away", 50}},
	{"no token compared", check.ByExclusion, "", simulated{"calm", 20}},
	{"no release after failure", check.ByResidue, "left on master", simulated{"ghosts", 20}},
	{"restart guard off", check.ByExclusion, "", simulated{"rolling restarts", 50}},
	{"duplicate servers allowed", check.ByExclusion, "", simulated{"twins", 50}},
	{"healing counted at once", check.ByLossNotified, "all masters forgot", simulated{"all forgotten", 30}},
	{"fencing without write-back", check.ByFencing, "", simulated{"split counters", 20}},
	{"keepalive that ignores votes", check.ByExclusion, "", simulated{"islands", 30}},
	{"lock handed over and released", check.ByExclusion, "", simulated{"calm", 60}},
	{"keepalive that does not extend", check.ByLiveness, "in spite of its keepalive", simulated{"calm", 60}},
	{"release before the deadline", check.ByExclusion, "", simulated{"far away", 50}},
	{"deadline moved to the loss", check.ByExclusion, "was held by two", simulated{"far away", 50}},
	// Nothing tells the holder. It unlocks when it is done.
	{"loss never notified", check.ByLossNotified, "was not notified ", simulated{"calm", 40}},
	{"loss notified 100 ms late", check.ByLossNotified, "was notified of the loss only at", simulated{"far away", 20}},
	{"fence raised without a token check", check.ByFencing, "", simulated{"split counters", 100}},
	{"fence counted from one", check.ByFencing, "", simulated{"total loss", 60}},
	{"new fence for each nested hold", check.ByFencing, "holds it already", simulated{"calm", 60}},
	{"counters that never expire", check.ByResidue, "has no end", simulated{"calm", 20}},
	{"one expiry for all readers", check.ByLiveness, "that was free from", simulated{"dead holders", 200}},
	{"first of several names only", check.ByExclusion, "", simulated{"calm", 50}},
	{"readers admitted despite a writer", check.ByExclusion, "", simulated{"calm", 50}},
	{"election without fencing", check.ByLeaders, "", simulated{"calm", 50}},
	{"job lock deleted at its end", check.ByMinHold, "", simulated{"calm", 20}},
	{"minimum hold of mutexes only", check.ByMinHold, "", simulated{"calm", 50}},
	{"permits kept until their TTL", check.ByLiveness, "that was free from", simulated{"dead holders", 60}},
	{"slots counted by each master", check.BySlots, "holders of", simulated{"paused clients", 80}},
	{"one slot for two permits", check.BySlots, "both had slot", simulated{"calm", 50}},
	{"slot without a majority", check.BySlots, "", simulated{"paused clients", 60}},
	{"context that outlives Unlock", simulation.ByContract, "outlives its Unlock", simulated{"calm", 5}},
	{"fencing token not returned", simulation.ByContract, "the fencing token is 0", simulated{"calm", 20}},
	{"neither lock nor error", simulation.ByContract, "neither lock nor error", simulated{"calm", 20}},
	{"unlock that takes seconds", check.ByLiveness, "Unlock took", simulated{"calm", 20}},
	{"writer that lets readers in", check.ByExclusion, "", simulated{"calm", 50}},
	{"any owner is the same", check.ByExclusion, "", simulated{"calm", 50}},
	{"owner is a stranger to itself", check.ByLiveness, "was refused to", simulated{"dead holders", 50}},
	{"lock without a TTL", check.ByLiveness, "did not acquire", simulated{"only-kill-client-holding", 40}},
	// A late holder overwrites the value of the next holder, which has the same fencing token.
	{"fence that is always 1", check.ByRegister, "an update is lost", simulated{"fenced", 40}},
	// A late holder presents a larger token than the next holder, so the register takes its write.
	{"new fence for each request", check.ByRegister, "an update is lost", simulated{"fenced", 40}},
	// A deposed leader presents the term of its successor, so the register takes its write.
	{"term looked up for each write", check.ByLeaders, "the register took a write of ", simulated{"elections", 40}},
	// Holders of three slots come in together with holders of two. No number of slots is exceeded by holders who asked
	// for that number.
	{"number of slots not compared", check.BySlots, "holders of 2 slots", simulated{"semaphores", 40}},
	{"pauses of 50 µs", simulation.ByLoad, "", simulated{"calm", 20}},
	{"pauses of a millisecond", simulation.ByLoad, "", simulated{"calm", 20}},
}
