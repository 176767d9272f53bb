package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// slack is how long after its deadline a running client must be notified of a loss.
const slack = time.Millisecond

// reordering are the faults after which a later holder may have a smaller token than an earlier one.
var reordering = faults.Named(append(faults.Catalog(), traitsOfExtras()...), faults.Traits.Reorders)

// judge has the checkers of real masters judge the history, and then those that only virtual time allows.
func (r *Result) judge() {
	s := r.Schedule
	terms := check.Terms{
		Masters: s.Masters, Names: traffic.Names("", s.Groups), Reordering: reordering, Slack: slack, Bound: s.bound(),
		Grace: tidy,
	}
	for _, c := range s.Clients {
		terms.Clients = append(terms.Clients, c.Name)
	}
	for _, c := range check.Catalog() {
		if s.judgedBy(c.Name) {
			r.find(c.Judge(r.Events, terms))
		}
	}
	if !s.plans(faults.Traits.Reorders) { // locks exclude each other, and no master forgets its counters unnoticed
		r.find(check.ReadersInOrder(r.Events))
	}
	intervals := check.Intervals(r.Events)
	for _, e := range r.Events {
		if e.Kind == history.Acquired {
			r.Holds++
		}
	}
	r.checkWipes(intervals)
	if s.quiet() {
		r.checkWaits(intervals)
	}
	if s.fair() {
		r.checkNoLoss(intervals)
		twin := slices.ContainsFunc(s.Clients, func(c Client) bool { return c.Twin }) // it takes one master for two
		if !twin && s.answersWithin(2) {
			r.find(check.Owned(r.Events))
		}
	}
}

// judgedBy reports whether a checker judges the history of the schedule. The run itself checks leaks and
// residue. Coverage and clients are judged on real masters only: a simulated client has no process.
func (s Schedule) judgedBy(checker string) bool {
	switch checker {
	case check.ByLiveness:
		return len(s.Groups) > 0
	case check.ByResidue, check.ByLeaks, check.ByCoverage, check.ByClients:
		return false
	default:
		return true
	}
}

// find records the findings of a verdict. If the faults break exclusion, the findings of the checkers that find
// something if masters lose keys are excused. A finding about a token that passedOn explains is none.
func (r *Result) find(v check.Verdict) {
	byKeys := slices.Contains([]string{check.ByExclusion, check.BySlots, check.ByMinHold}, v.Checker)
	for _, f := range v.Findings {
		if v.Checker != check.ByFencing || !r.passedOn(f) {
			excused := byKeys && !r.Schedule.excludes()
			r.Found = append(r.Found, Found{By: v.Checker, Finding: f, Excused: excused})
		}
	}
}

// passedOn reports whether the finding is about a hold that took over its token from a third hold, a donor with which
// it may share the name:
//   - If masters forget counters, a token is only as recent as the call that asked for it. So the donor must have been
//     asked for before the first of the two holds began.
//   - If locks do not exclude each other, a reader may have the token of an owner's hold, and the owner may get the
//     same token again. So the donor must have begun no later than the first.
func (r *Result) passedOn(f check.Finding) bool {
	if len(f.Events) < 2 {
		return false
	}
	first, second := f.Events[0], f.Events[len(f.Events)-1]
	if first.Kind != history.Acquired || second.Kind != history.Acquired || first.ID() == second.ID() {
		return false // the finding is not about the order of two holds
	}
	forgets := r.Schedule.forgets()
	if !forgets && (r.Schedule.excludes() || !kinds.Of(first.Mode).Reads() || first.Fence != second.Fence) {
		return false
	}
	asked := make(map[history.ID]time.Duration)
	for _, e := range r.Events {
		switch {
		case e.Kind == history.Invoked:
			asked[e.ID()] = e.T
		case e.Kind == history.Acquired && e.ID() != second.ID() && e.Name == second.Name && e.Fence == second.Fence &&
			e.T <= second.T && check.Share(e, second):
			if forgets && asked[e.ID()] < first.T || e.T <= first.T {
				return true
			}
		}
	}
	return false
}

// report adds a finding about an acquisition.
func (r *Result) report(by string, at time.Duration, who history.ID, format string, args ...any) {
	where := fmt.Sprintf("%s.%d.%d", who.Client, who.Life, who.Worker)
	r.Found = append(r.Found, foundAt(at, where, by, fmt.Sprintf(format, args...)))
}

// checkNoLoss reports every lock with keepalive that a living client lost, though no fault could cause a loss: its
// deadline passed, or the client was notified of a loss before it unlocked.
func (r *Result) checkNoLoss(intervals []check.Interval) {
	lost, unlocked := make(map[history.ID]bool), make(map[history.ID]bool)
	for _, e := range r.Events {
		switch e.Kind {
		case history.ReleaseCalled:
			unlocked[e.ID()] = true
		case history.Lost: // also when the client unlocks or closes
			if !unlocked[e.ID()] && strings.Contains(e.Err, redlock.ErrLost.Error()) {
				lost[e.ID()] = true
			}
		}
	}
	for _, i := range intervals {
		client := r.Schedule.clientOf(i.Who.Client)
		dead := slices.ContainsFunc(r.Schedule.Plan, func(step faults.Step) bool {
			return r.Schedule.death(step) && slices.Contains(step.Targets, client)
		})
		if (i.Expired || lost[i.Who]) && !dead && i.Acquired.Keepalive {
			r.report(check.ByLiveness, i.End, i.Who, "lost %q in spite of its keepalive, though all masters answer",
				i.Acquired.Name)
		}
	}
}

// checkWipes reports locks that outlived a wipe of all masters. Such a lock is lost at its next extension, even if
// later requests of the holder restore its keys. An extension that was in flight gives it one more TTL.
func (r *Result) checkWipes(intervals []check.Interval) {
	wiped := make(map[time.Duration]int)
	for _, step := range r.Schedule.Plan {
		if step.Fault == faults.FlushAll || step.Fault == faults.EvictLocks {
			wiped[step.At] = len(step.Targets)
		}
	}
	for at, masters := range wiped {
		for _, i := range intervals {
			ttl := i.Acquired.TTL
			if masters == r.Schedule.Masters && i.Begin < at && i.End > at+ttl+ttl/100 {
				r.report(check.ByLossNotified, i.End, i.Who, "kept %q until %v though all masters forgot it at %v",
					i.Acquired.Name, stamp(i.End), stamp(at))
			}
		}
	}
}

// checkWaits reports a client that waits for a free lock for too long, where no fault excuses it. A client that dies
// keeps others out for at most its own TTL, however often others renew their locks, and a dead writer that waited keeps
// readers out for as long as its intent lives. A release that leaves the name taken for a minimum hold sends no
// message, so a waiter that asked just before may sleep for its whole back-off.
func (r *Result) checkWaits(intervals []check.Interval) {
	s := r.Schedule
	messages := s.fair() && s.MinHold == 0 && !slices.ContainsFunc(s.Plan, s.death)
	var most time.Duration
	for _, c := range s.Clients {
		retry := c.RetryMax
		if messages { // release messages arrive, so long retry bounds do not matter
			retry = min(retry, time.Second)
		}
		most = max(most, retry+500*time.Millisecond)
	}
	var held, blocksWriters []check.Held // blocksWriters are the holds of readers, minimum holds, and dead clients
	add := func(h check.Held, names []string, blocks bool) {
		for _, h.Name = range names {
			held = append(held, h)
			if blocks {
				blocksWriters = append(blocksWriters, h)
			}
		}
	}
	for _, e := range r.Events {
		if e.Kind == history.Acquired { // also of a hold that ended at once
			add(check.Held{From: e.T, To: e.T, Slots: e.Slots}, e.Locked(), kinds.Of(e.Mode).Reads())
			if d := e.MinHold; d > 0 {
				// The lock adds the drift, 1 % and 2 ms, to the minimum hold, and a slow master takes 1 % longer.
				add(check.Held{From: e.T, To: e.T + d + d/50 + 2*time.Millisecond}, e.Locked(), true)
			}
		}
	}
	for _, i := range intervals {
		e := i.Acquired
		add(check.Held{From: i.Begin, To: i.End, Slots: e.Slots}, e.Locked(), kinds.Of(e.Mode).Reads())
	}
	died := make(map[string]time.Duration)
	for _, step := range s.Plan {
		if !s.death(step) {
			continue
		}
		dead := s.Clients[step.Targets[0]]
		died[dead.Name] = step.At
		add(check.Held{From: step.At, To: step.At + max(dead.TTL+dead.TTL/100, s.intentLife())}, s.Names, true)
	}
	r.find(check.Free(r.Events, append(held, r.intents(blocksWriters)...), died, most))
}

// intents returns the times in which no reader holds a name, and the intent of a waiter for several names, which waits
// for another one of them, still keeps readers out. Such a waiter renews its intent only while readers hold the name.
func (r *Result) intents(blocksWriters []check.Held) []check.Held {
	var all []check.Held
	asked := make(map[history.ID]time.Duration)
	for _, e := range r.Events {
		switch e.Kind {
		case history.Invoked:
			if kinds.Of(e.Mode).Several && !e.Try {
				asked[e.ID()] = e.T
			}
		case history.Acquired, history.Refused:
			at, waited := asked[e.ID()]
			if !waited {
				continue
			}
			life := r.Schedule.Clients[r.Schedule.clientOf(e.Client)].intentLife()
			for _, h := range blocksWriters {
				if slices.Contains(e.Locked(), h.Name) && at < h.To && h.To < e.T {
					to := min(e.T, h.To+life+life/100)
					all = append(all, check.Held{Name: h.Name, From: h.To, To: to, Readers: true})
				}
			}
		}
	}
	return all
}
