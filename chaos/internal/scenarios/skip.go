package scenarios

import (
	"fmt"
	"slices"
	"strings"
)

// skip is a fault, or another part of a scenario, that is left out, and why.
type skip struct{ fault, why string }

// without returns a line for each reason, with the parts that are left out for it.
func without(skips []skip) []string {
	var reasons []string
	faults := map[string][]string{}
	for _, g := range skips {
		if !slices.Contains(reasons, g.why) {
			reasons = append(reasons, g.why)
		}
		faults[g.why] = append(faults[g.why], g.fault)
	}
	lines := make([]string, len(reasons))
	for i, why := range reasons {
		lines[i] = fmt.Sprintf("without %s: %s", strings.Join(faults[why], ", "), why)
	}
	return lines
}
