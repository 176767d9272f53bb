package testsummary

import (
	"fmt"
	"slices"
	"strings"
)

// few is how many tests may have failed for them to be run again. Where more have, it is the change.
const few = 3

// retry returns the tests that failed, by package, if they may be run again: they are few, and nothing else went wrong.
func (r *Report) retry() map[string][]string {
	tests, n := map[string][]string{}, 0
	for pkg, s := range r.packages {
		switch {
		case s.ended && !s.broken:
		case !s.ended || s.unbuilt || s.crashed || len(s.wrong) == 0:
			return nil
		default:
			tests[pkg] = s.wrong
			n += len(s.wrong)
		}
	}
	if n > few {
		return nil
	}
	return tests
}

// alone are the arguments of go test that run some tests of a package so often, one after the other.
func alone(args []string, pkg string, tests []string, times int) []string {
	flags := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, ".") })
	return append(flags, fmt.Sprintf("-run=^(%s)$", strings.Join(tests, "|")), fmt.Sprintf("-count=%d", times), "-parallel=1", pkg)
}
