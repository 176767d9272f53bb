package check

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// The names of the checkers.
const (
	ByExclusion    = "exclusion"
	BySlots        = "slots"
	ByMinHold      = "minimum hold"
	ByFencing      = "fencing"
	ByRegister     = "register"
	ByLossNotified = "loss notified"
	ByLiveness     = "liveness"
	ByResidue      = "residue"
	ByLeaks        = "leaks"
	ByCoverage     = "coverage"
	ByWellFormed   = "well-formed"
	ByClients      = "clients"
	ByHarness      = "harness"
)

// Terms are what the checkers must know of a run besides its history.
type Terms struct {
	Masters int
	// Clients are the names of all clients.
	Clients []string
	// Names are the names that all clients lock.
	Names []string
	// Planned are the faults that must be injected. Extends says that some locks must be extended.
	Planned []string
	Extends bool
	// Reordering are the faults after which a later holder may have a smaller token than an earlier one: locks may not
	// exclude each other, or masters forget fence counters unnoticed.
	Reordering []string
	// Slack is the running time within which a client must be notified of a loss.
	Slack time.Duration
	// Bound is the time after the storm within which each client must acquire each name.
	Bound time.Duration
	// Grace is the time after the last unlock, or the last close, from which on nothing may be left on a master.
	Grace time.Duration
}

// A Checker judges histories.
type Checker struct {
	Name string
	// Of is the main checker of the promise that this checker judges. It is empty for a checker that judges no promise of
	// the lock and must never find anything.
	Of string
	// Judge returns the verdict on a whole history.
	Judge func(events []history.Event, t Terms) Verdict
}

// whole is a checker that needs nothing but the history.
func whole(judge func(events []history.Event) Verdict) func([]history.Event, Terms) Verdict {
	return func(events []history.Event, _ Terms) Verdict { return judge(events) }
}

// catalog has every checker. Those of the lock's promises come first.
var catalog = []Checker{
	{ByExclusion, ByExclusion, whole(Exclusion)},
	{BySlots, BySlots, whole(Slots)},
	{ByMinHold, ByMinHold, whole(MinHold)},
	{ByFencing, ByFencing, Fencing},
	{ByRegister, ByFencing, whole(Register)},
	{ByLossNotified, ByLossNotified, LossNotified},
	{ByLiveness, ByLiveness, Liveness},
	{ByResidue, "", Residue},
	{ByLeaks, "", Leaks},
	{ByCoverage, "", Coverage},
	{ByWellFormed, "", whole(WellFormed)},
	{ByClients, "", whole(Clients)},
	{ByHarness, "", whole(Broken)},
}

// Catalog returns every checker, those of the lock's promises first.
func Catalog() []Checker { return slices.Clone(catalog) }
