package main

import (
	"fmt"
	"strings"
)

// The targets. Each is a ratio taken in one run, so that it means the same on a fast machine and on a slow one.
const (
	targetAlone      = 1.0 // times redsync's time for one caller, at most
	targetFrozen     = 3.0 // times the healthy p99, at most
	targetFailed     = 0.001
	smokeSlack       = 2.0 // a smoke run is short, and its machine busy
	noSlack          = 1.0
	throughputFormat = "%d callers: throughput, × redsync's"
)

var targetThroughput = []struct {
	callers int
	least   float64
}{{64, 4}, {512, 6}}

// A verdict compares one figure with its target.
type verdict struct {
	What   string `json:"what"`
	Target string `json:"target"`
	Got    string `json:"got"`
	OK     bool   `json:"ok"`
}

// judge compares a report with the targets, each loosened by slack, except what must be nothing at all. A figure that
// was not measured falls short.
func judge(r *report, slack float64) []verdict {
	var all []verdict
	alone, ok := r.throughput(1, ours, peer)
	all = append(all, atMost("1 caller: time, × redsync's", alone.inverse(), ok, targetAlone*slack))
	for _, t := range targetThroughput {
		got, ok := r.throughput(t.callers, ours, peer)
		all = append(all, atLeast(fmt.Sprintf(throughputFormat, t.callers), got, ok, t.least/slack))
	}
	all = append(all, failures(r))
	if r.Frozen == nil || len(r.Frozen.Cycles) == 0 {
		return append(all, verdict{What: "one master frozen", Target: "measured", Got: "not measured"})
	}
	return append(all,
		atMost("one master frozen: p99 of Lock, × healthy", r.Frozen.lockRatio(), true, targetFrozen*slack),
		atMost("one master frozen: p99 of Unlock, × healthy", r.Frozen.unlockRatio(), true, targetFrozen*slack),
		verdict{"keys left on it 2 s after it thawed", "0", fmt.Sprint(r.Frozen.left()), r.Frozen.left() == 0})
}

// inverse turns a ratio of throughputs into one of times.
func (s spread) inverse() spread {
	return spread{Median: 1 / s.Median, Low: 1 / s.High, High: 1 / s.Low}
}

func atMost(what string, got spread, measured bool, most float64) verdict {
	return compared(what, fmt.Sprintf("≤ %.2f", most), got, measured, got.Median <= most)
}

func atLeast(what string, got spread, measured bool, least float64) verdict {
	return compared(what, fmt.Sprintf("≥ %.2f", least), got, measured, got.Median >= least)
}

func compared(what, target string, got spread, measured, ok bool) verdict {
	if !measured {
		return verdict{What: what, Target: target, Got: "not measured"}
	}
	return verdict{what, target, got.format(2), ok}
}

// failures is about pairs of ours that did not succeed: a fast lock that fails is none.
func failures(r *report) verdict {
	var pairs, failed int64
	count := func(f figures) { pairs, failed = pairs+f.Pairs, failed+f.Failed }
	for _, row := range r.Latency {
		if row.Contestant == ours || row.Contestant == oursSingle {
			for _, f := range row.Rounds {
				count(f)
			}
		}
	}
	for _, row := range r.Kinds {
		for _, f := range row.Rounds {
			count(f)
		}
	}
	if r.Frozen != nil {
		for _, c := range r.Frozen.Cycles {
			count(c.Healthy)
			count(c.Frozen)
		}
	}
	v := verdict{What: "share of redlock's pairs that failed", Target: fmt.Sprintf("≤ %.1f %%", 100*targetFailed), Got: "not measured"}
	if all := pairs + failed; all > 0 {
		share := float64(failed) / float64(all)
		v.Got, v.OK = fmt.Sprintf("%.3f %% (%d of %d)", 100*share, failed, all), share <= targetFailed
	}
	return v
}

// short counts what falls short.
func short(all []verdict) (n int) {
	for _, v := range all {
		if !v.OK {
			n++
		}
	}
	return n
}

// names lists what falls short.
func names(all []verdict) string {
	var list []string
	for _, v := range all {
		if !v.OK {
			list = append(list, fmt.Sprintf("%s is %s, wanted %s", v.What, v.Got, v.Target))
		}
	}
	return strings.Join(list, "; ")
}
