package testsummary

import (
	"fmt"
	"slices"
	"strings"
)

// few is how many tests may have failed for them to be run again. Where more have, it is the change.
const few = 5

// retry returns the tests that failed, by package, if they may be run again: they are few, nothing else went wrong, and none is of
// a package that is excepted.
func (r *Report) retry(except []string) map[string][]string {
	tests, n := map[string][]string{}, 0
	for pkg, s := range r.packages {
		switch {
		case s.ended && !s.broken:
		case !s.ended || s.unbuilt || s.crashed || len(s.wrong) == 0 || slices.Contains(except, s.name):
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
	flags := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "./") })
	return append(flags, fmt.Sprintf("-run=^(%s)$", strings.Join(tests, "|")), fmt.Sprintf("-count=%d", times), "-parallel=1", pkg)
}

// passedAll reports whether tests of a package, and nothing else, have passed so often, and nothing was skipped.
func (r *Report) passedAll(pkg string, tests []string, times int) bool {
	s := r.packages[pkg]
	return s != nil && s.ended && !s.broken && s.whole == len(tests)*times && len(s.skipped) == 0
}
