package testsummary

import (
	"fmt"
	"slices"
	"strings"
)

// few is how many tests may have failed for them to be run again. Where more have, it is the change.
const few = 5

// retry returns the tests that failed, by package, if they may be run again: they are few, nothing else went wrong, and none is of
// a package that is excepted. All tests of a package are nil: it was felled by what is not Go, which here is the race detector.
func (r *Report) retry(except []string) map[string][]string {
	tests, n := map[string][]string{}, 0
	for pkg, s := range r.packages {
		switch {
		case s.ended && !s.broken:
		case !s.ended || s.unbuilt || s.crashed || slices.Contains(except, s.name) || len(s.wrong) == 0 && !s.felled:
			return nil
		case s.felled:
			tests[pkg] = nil
			n++
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

// alone are the arguments of go test that run some tests of a package so often, one after the other, or all of its tests once.
func alone(args []string, pkg string, tests []string, times int) []string {
	flags := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "./") })
	if tests != nil {
		flags = append(flags, fmt.Sprintf("-run=^(%s)$", strings.Join(tests, "|")), fmt.Sprintf("-count=%d", times), "-parallel=1")
	}
	return append(flags, pkg)
}

// passedAll reports whether tests of a package, and nothing else, have passed so often, and nothing was skipped; or all tests once.
func (r *Report) passedAll(pkg string, tests []string, times int) bool {
	s := r.packages[pkg]
	if s == nil || !s.ended || s.broken || s.whole == 0 {
		return false
	}
	return tests == nil || s.whole == len(tests)*times && len(s.skipped) == 0
}
