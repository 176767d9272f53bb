package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A verdict compares one figure with its target.
type verdict struct {
	What   string `json:"what"`
	Target string `json:"target"`
	Got    string `json:"got"`
	OK     bool   `json:"ok"`
}

const notMeasured = "not measured"

// judge compares a report with the targets of the parts that were asked for. A figure of theirs that was not measured
// falls short. In a smoke run ratios have slack, and absolute figures, and those that take longer to measure, are left
// out.
func judge(r *Report, smoke bool) (all []verdict) {
	for _, t := range allTargets() {
		if t.part != "" && len(r.Setup.Parts) > 0 && !slices.Contains(r.Setup.Parts, t.part) {
			continue
		}
		if smoke && (t.absolute || t.long) {
			continue
		}
		all = append(all, t.judge(r, smoke))
	}
	return all
}

func (t target) judge(r *Report, smoke bool) verdict {
	limit := t.limit
	if smoke && !t.exact {
		if t.atMost {
			limit *= smokeSlack
		} else {
			limit /= smokeSlack
		}
	}
	v := verdict{What: t.name, Target: "≥ " + formatLimit(limit), Got: notMeasured}
	if t.atMost {
		v.Target = "≤ " + formatLimit(limit)
	}
	got, measured := t.measure(r)
	if !measured {
		return v
	}
	v.Got = got.brief()
	v.OK = got.Median >= limit
	if t.atMost {
		v.OK = got.Median <= limit
	}
	return v
}

// formatLimit formats a limit without trailing zeros.
func formatLimit(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", v), "0"), ".")
}

// decimalsFor gives a figure about three digits.
func decimalsFor(v float64) int {
	switch a := math.Abs(v); {
	case a == 0 || a >= 100:
		return 0
	case a >= 10:
		return 1
	}
	return 2
}

// CountShort returns the number of missed targets.
func CountShort(all []verdict) (n int) {
	for _, v := range all {
		if !v.OK {
			n++
		}
	}
	return n
}

// describeShort lists the missed targets.
func describeShort(all []verdict) string {
	var list []string
	for _, v := range all {
		if !v.OK {
			list = append(list, fmt.Sprintf("%s is %s, wanted %s", v.What, v.Got, v.Target))
		}
	}
	return strings.Join(list, "; ")
}
