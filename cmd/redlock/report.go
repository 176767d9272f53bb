package main

import (
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/doctor"
)

// The reports are what --json prints. Their field names and units are a contract: add fields, but rename none.

type mastersReport struct {
	Votes   int            `json:"votes"`    // how many masters there are
	Needed  int            `json:"needed"`   // a majority of them
	MayVote int            `json:"may_vote"` // how many may vote now
	Quorum  bool           `json:"quorum"`   // the masters that may vote are a majority
	Masters []masterReport `json:"masters"`
}

type masterReport struct {
	Node        string   `json:"node"`
	Reachable   bool     `json:"reachable"`
	RoundTripMS *float64 `json:"round_trip_ms"` // null if it is not reachable
	Role        string   `json:"role,omitempty"`
	Version     string   `json:"version,omitempty"`
	RunID       string   `json:"run_id,omitempty"`
	UptimeMS    *float64 `json:"uptime_ms"` // null if unknown
	MayVote     bool     `json:"may_vote"`
	VoteInMS    float64  `json:"vote_in_ms"`
	Error       string   `json:"error,omitempty"`
}

type locksReport struct {
	Locks []lockReport `json:"locks"`
}

type lockReport struct {
	Name    string         `json:"name"`
	Kind    string         `json:"kind,omitempty"`
	Held    bool           `json:"held"`
	Depth   int            `json:"depth"`            // of a reentrant lock; 1 for other kinds, 0 if the name is free
	Slots   int            `json:"slots,omitempty"`  // of a semaphore
	Fence   uint64         `json:"fence,omitempty"`  // the last one that was given out, perhaps to an earlier holder
	Holders []holderReport `json:"holders"`          // readers, permits, or holds of a reentrant lock's owner
	Others  int            `json:"others,omitempty"` // how many more there are
	Nodes   []voteReport   `json:"nodes"`
	Error   string         `json:"error,omitempty"`
}

type holderReport struct {
	Owner  string  `json:"owner"`
	Token  string  `json:"token"`
	Slot   int     `json:"slot,omitempty"` // of a semaphore, from 1
	Votes  int     `json:"votes"`
	LeftMS float64 `json:"left_ms"`
}

// A voteReport is what one master reports. Owner, token and left_ms are those of the holder with the longest TTL.
type voteReport struct {
	Node    string       `json:"node"`
	Kind    string       `json:"kind,omitempty"`
	Owner   string       `json:"owner,omitempty"`
	Token   string       `json:"token,omitempty"`
	LeftMS  float64      `json:"left_ms,omitempty"`
	Fence   uint64       `json:"fence,omitempty"`
	Holders []holdReport `json:"holders,omitempty"`
	Others  int          `json:"others,omitempty"`
	Error   string       `json:"error,omitempty"`
}

type holdReport struct {
	Owner  string  `json:"owner"`
	Token  string  `json:"token"`
	Slot   int     `json:"slot,omitempty"` // of a semaphore, from 1
	LeftMS float64 `json:"left_ms"`
}

type doctorReport struct {
	Summary  summaryReport   `json:"summary"`
	Findings []findingReport `json:"findings"` // the worst first
}

type summaryReport struct {
	Masters  int `json:"masters"`
	Examined int `json:"examined"` // masters that answered until the end
	Dangers  int `json:"dangers"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

type findingReport struct {
	ID       doctor.ID `json:"id"`
	Severity string    `json:"severity"` // danger, warning or note
	Nodes    []string  `json:"nodes"`    // none: this host, or the settings
	Title    string    `json:"title"`
	Why      string    `json:"why"`
	Fix      string    `json:"fix"`
	Commands []string  `json:"commands"` // of the fix, that can be typed as they are
}

func reportFindings(report doctor.Report) doctorReport {
	sum := report.Summary
	r := doctorReport{
		Summary:  summaryReport{sum.Masters, sum.Examined, sum.Dangers, sum.Warnings, sum.Notes},
		Findings: []findingReport{},
	}
	for _, f := range report.Findings {
		r.Findings = append(r.Findings, findingReport{
			f.ID, f.Severity.String(), f.Nodes, f.Title, f.Why, f.Fix, f.Commands,
		})
	}
	return r
}

func reportMasters(nodes []redlock.NodeStatus) mastersReport {
	r := mastersReport{Votes: len(nodes), Needed: len(nodes)/2 + 1, Masters: []masterReport{}}
	for _, n := range nodes {
		m := masterReport{
			Node: n.Node, Reachable: n.Reachable, Role: n.Role, Version: n.Version, RunID: n.RunID,
			MayVote: n.MayVote, VoteInMS: ms(n.VoteIn), Error: reason(n.Err),
		}
		if n.Reachable {
			m.RoundTripMS = pointerTo(ms(n.RoundTrip))
		}
		if n.RunID != "" {
			m.UptimeMS = pointerTo(ms(n.Uptime))
		}
		if n.MayVote {
			r.MayVote++
		}
		r.Masters = append(r.Masters, m)
	}
	r.Quorum = r.MayVote >= r.Needed
	return r
}

func reportLock(h redlock.Holding, err error) lockReport {
	r := lockReport{
		Name: h.Name, Kind: string(h.Kind), Held: h.Kind != "", Depth: h.Depth, Slots: h.Slots,
		Fence: h.Fence, Others: h.Others, Holders: []holderReport{}, Nodes: []voteReport{},
	}
	if err != nil {
		r.Error = noMajority
	}
	for _, who := range h.Holders {
		r.Holders = append(r.Holders, holderReport{rawOwner(who.Token), who.Token, who.Slot, who.Votes, leftMS(who.Left)})
	}
	for _, n := range h.Nodes {
		v := voteReport{
			Node: n.Node, Kind: string(n.Kind), Token: n.Token, Fence: n.Fence, Others: n.Others, Error: reason(n.Err),
		}
		if n.Kind != "" {
			v.Owner, v.LeftMS = rawOwner(n.Token), leftMS(n.Left)
		}
		for _, who := range n.Holders {
			v.Holders = append(v.Holders, holdReport{rawOwner(who.Token), who.Token, who.Slot, leftMS(who.Left)})
		}
		r.Nodes = append(r.Nodes, v)
	}
	return r
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// leftMS returns the time left in milliseconds; -1 without an end.
func leftMS(d time.Duration) float64 {
	if d < 0 {
		return -1
	}
	return ms(d)
}

func pointerTo[T any](v T) *T { return &v }
