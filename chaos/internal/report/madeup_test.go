package report_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/report"
)

// madeUp returns a history of about n events with all kinds of locks and with faults. If broken is set, two clients
// sometimes hold a lock at the same time.
func madeUp(n int, broken bool) []history.Event {
	r := rand.New(rand.NewPCG(7, 7))
	const begin = 1000 * time.Second
	after := func(ms float64) time.Duration { return begin + time.Duration(ms*float64(time.Millisecond)) }
	events := []history.Event{{T: begin, Kind: history.Phase, Phase: history.Storm}}
	ops := map[string]int{}
	now, fence := map[string]float64{}, uint64(100)
	names := []string{"orders", "invoices", "ledger:<b>2024</b>", "depot", "x,y"}
	modes := []string{kinds.Mutex, kinds.Writer, kinds.Reentrant, kinds.Mutex, kinds.Several}

	one := func(i, worker int, mode string, at, wait, hold float64) {
		client := fmt.Sprintf("c%d", r.IntN(3))
		key := fmt.Sprint(client, i*10+worker)
		ops[key]++
		e := history.Event{Client: client, Worker: i*10 + worker, Op: ops[key], Name: names[i], Mode: mode, TTL: time.Second}
		if mode == kinds.Reentrant {
			e.Owner = "owner-of-" + client
		}
		if mode == kinds.Several {
			e.Names = []string{"x", "y"}
		}
		say := func(kind history.Kind, ms float64, more func(*history.Event)) {
			e := e
			e.Kind, e.T = kind, after(ms)
			if more != nil {
				more(&e)
			}
			events = append(events, e)
		}
		say(history.Invoked, at, nil)
		if r.IntN(8) == 0 {
			say(history.Refused, at+wait, func(e *history.Event) { e.Err = "redlock: held by another" })
			return
		}
		fence++
		say(history.Acquired, at+wait, func(e *history.Event) {
			e.Token, e.Fence, e.Until = "t", fence, after(at+wait+990)
			for m := range 5 {
				v := history.Vote{Master: m, Verdict: "granted", Took: time.Duration(r.IntN(900)) * time.Microsecond}
				if m > 2 && r.IntN(3) == 0 {
					v.Verdict, v.Err = "unknown", "i/o timeout"
				}
				e.Votes = append(e.Votes, v)
			}
		})
		if hold > 600 {
			say(history.Lost, at+wait+hold-1, func(e *history.Event) { e.Err = "redlock: the lock was lost" })
		}
		say(history.ReleaseCalled, at+wait+hold, nil)
		say(history.Released, at+wait+hold+1, nil)
	}
	for len(events) < n {
		i := r.IntN(len(names))
		key := names[i]
		at, wait, hold := now[key], 2+r.ExpFloat64()*40, 20+r.Float64()*250
		if r.IntN(25) == 0 {
			hold = 900
		}
		one(i, r.IntN(2), modes[i], at, wait, hold)
		if i == 1 {
			for w := range 3 {
				one(i, 5+w, kinds.Reader, at+wait+hold+5, 3, 80)
			}
			hold += 100
		}
		if broken && i == 0 && r.IntN(60) == 0 {
			one(i, 2, modes[i], at+wait, hold/3, hold)
			hold *= 1.5
		}
		now[key] = at + max(0, wait-10) + hold + 12
	}
	end := 0.0
	for _, t := range now {
		end = max(end, t)
	}
	fault := func(from, to float64, on, name string, targets ...int) {
		for kind, t := range map[history.Kind]float64{history.Inject: from, history.Heal: to - 20, history.Healthy: to} {
			events = append(events, history.Event{T: after(t), Kind: kind, On: on, Fault: name, Targets: targets})
		}
	}
	for t := end * 0.05; t < end*0.8; t += end / 9 {
		fault(t, t+end*0.05, "masters", []string{"kill-master", "pause-master", "black-hole"}[r.IntN(3)], r.IntN(5))
		fault(t+end*0.04, t+end*0.06, "clients", "freeze-client", r.IntN(3))
	}
	fault(end*0.83, end*0.9, "masters", "clock-jump", 0, 1, 2)
	events = append(events, history.Event{T: after(end * 0.92), Kind: history.Phase, Phase: history.Calm},
		history.Event{T: after(end + 1), Kind: history.Phase, Phase: history.Settled},
		history.Event{T: after(end + 2), Kind: history.Written, Register: history.Trusting, Name: "orders", Value: 1},
		history.Event{T: after(end + 3), Kind: history.Written, Register: history.Trusting, Name: "orders", Value: 1})
	history.Sort(events)
	return events
}

// judged returns a run of events with their verdicts.
func judged(events []history.Event) report.Run {
	clients := []string{"c0", "c1", "c2"}
	return report.Run{
		Name: "made-up", Backend: "processes", Seed: 17,
		Replay: "go run ./chaos -scenario made-up -backend processes -seed 17",
		Began:  time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Took: 71 * time.Second, Events: events,
		Verdicts: []check.Verdict{
			check.Exclusion(events), check.Register(events), check.LossNotified(events, clients, 50*time.Millisecond),
			check.Linearizability(events, time.Minute), check.WellFormed(events), check.Broken(events),
			{Checker: "residue", Looked: "5 masters 2s after the last unlock"},
		},
		Notes: []string{"without freeze-client: <this system> has no means to stop a process"},
		Files: []report.File{{Path: "history.jsonl", What: "every event"}, {Path: "logs/", What: "of masters and clients"}},
	}
}
