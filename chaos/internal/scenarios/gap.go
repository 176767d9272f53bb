package scenarios

import (
	"fmt"
	"slices"
	"strings"
)

// gap is a fault, or something else of a scenario, that cannot be had here, and why.
type gap struct{ fault, why string }

// without says what is missing, a line for each reason.
func without(gaps []gap) []string {
	var reasons []string
	faults := map[string][]string{}
	for _, g := range gaps {
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
