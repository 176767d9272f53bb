// Package testsummary runs go test and ends with what did not run, and why: a skipped suite must not look like a
// passed one. The lines of go test (ok, FAIL, the output of what failed) stay as they are, for people and programs that
// know them; the last lines name every test that was skipped, every package that did not build, and how the rest went.
package testsummary

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// An Event is one line of go test -json; see go doc test2json.
type Event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	FailedBuild string
}

// A Report prints events as go test would have, and gathers what the summary needs. Module is cut off the packages' names there.
type Report struct {
	Module string
	Out    io.Writer

	packages map[string]*suite
}

// A suite is the tests of one package.
type suite struct {
	name    string // without the module
	output  []string
	tests   map[string]*strings.Builder // what each test that has not ended has printed
	began   []string                    // those tests, in the order in which they began
	passed  int
	whole   int // of the passed ones, those that are no subtests
	failed  int
	wrong   []string // of the failed ones, those that are no subtests
	skipped []skip   // of tests and subtests
	tops    int      // tests that are no subtests
	topSkip int
	ended   bool
	broken  bool // it failed, whether a test did or not
	crashed bool // a data race or a panic was seen, or a test did not come to its end
	felled  bool // by what is not Go
	unbuilt bool
}

type skip struct{ test, reason string }

// detectorCrashes are how the output begins with which the race detector itself ends a process.
var detectorCrashes = []string{"SIGSEGV: segmentation violation", "ThreadSanitizer: CHECK failed"}

// crashes are the signs of what no busy machine does, in a test or in a process that it has started: 66 is how one ends that has seen
// a data race. What rapid finds is drawn anew each time.
var crashes = []string{"DATA RACE", "exit status 66", "panic: ", "fatal error: ", "[rapid] failed"}

// Take handles one event.
func (r *Report) Take(e Event) {
	if strings.HasPrefix(e.Action, "build-") {
		fmt.Fprint(r.Out, e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	s := r.suite(e.Package)
	switch e.Action {
	case "run":
		s.tests[e.Test] = new(strings.Builder)
		s.began = append(s.began, e.Test)
	case "output":
		s.felled = s.felled || slices.ContainsFunc(detectorCrashes, func(sign string) bool { return strings.HasPrefix(e.Output, sign) })
		s.crashed = s.crashed || slices.ContainsFunc(crashes, func(sign string) bool { return strings.Contains(e.Output, sign) })
		if text, running := s.tests[e.Test]; running {
			text.WriteString(e.Output)
		} else {
			s.output = append(s.output, e.Output)
		}
	case "pass", "fail", "skip":
		if e.Test != "" {
			r.endTest(s, e)
		} else {
			r.endSuite(s, e)
		}
	}
}

func (r *Report) suite(pkg string) *suite {
	if r.packages == nil {
		r.packages = map[string]*suite{}
	}
	s := r.packages[pkg]
	if s == nil {
		name := strings.TrimPrefix(strings.TrimPrefix(pkg, r.Module), "/")
		s = &suite{name: cmp.Or(name, "the root package"), tests: map[string]*strings.Builder{}}
		r.packages[pkg] = s
	}
	return s
}

func (r *Report) endTest(s *suite, e Event) {
	top := !strings.Contains(e.Test, "/")
	var text string
	if b := s.tests[e.Test]; b != nil {
		text = b.String()
	}
	delete(s.tests, e.Test)
	s.began = slices.DeleteFunc(s.began, func(name string) bool { return name == e.Test })
	if top {
		s.tops++
	}
	switch e.Action {
	case "pass":
		s.passed++
		if top {
			s.whole++
		}
	case "fail":
		s.failed++
		if top {
			s.wrong = append(s.wrong, e.Test)
		}
		fmt.Fprint(r.Out, text)
	case "skip":
		s.skipped = append(s.skipped, skip{e.Test, reason(text)})
		if top {
			s.topSkip++
		}
	}
}

func (r *Report) endSuite(s *suite, e Event) {
	s.ended, s.broken, s.unbuilt = true, e.Action == "fail", e.FailedBuild != ""
	s.crashed = s.crashed || s.broken && len(s.began) > 0 && !s.felled
	for _, test := range s.began { // a panic, or a timeout, ends them without an event
		fmt.Fprint(r.Out, s.tests[test])
	}
	for _, line := range s.output {
		if s.broken || strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "?   \t") || strings.HasPrefix(line, "\t") {
			fmt.Fprint(r.Out, line)
		}
	}
	s.output, s.tests, s.began = nil, nil, nil
}

// Running returns the suites that have begun and not ended, each with the tests that it is at.
func (r *Report) Running() []string {
	var running []string
	for _, s := range r.sorted() {
		switch n := len(s.began); {
		case s.ended:
		case n == 0:
			running = append(running, s.name)
		default:
			running = append(running, s.name+" ("+s.began[n-1]+")")
		}
	}
	return running
}

// Summary prints how it went, and what did not run. elsewhere holds what is known not to be a part of this run.
func (r *Report) Summary(took time.Duration, elsewhere []string) {
	var passed, failed, skipped int
	var packages []string
	for _, s := range r.sorted() {
		passed, failed, skipped = passed+s.passed, failed+s.failed, skipped+len(s.skipped)
		if s.broken || !s.ended {
			packages = append(packages, s.name)
		}
	}
	fmt.Fprintf(r.Out, "\nTests: %d passed, %d failed, %d skipped, in %v.\n", passed, failed, skipped, took.Round(100*time.Millisecond))
	if len(packages) > 0 {
		fmt.Fprintf(r.Out, "Failed: %s.\n", strings.Join(packages, ", "))
	}
	lines := append(r.missing(), elsewhere...)
	if len(lines) == 0 {
		fmt.Fprintln(r.Out, "Every suite ran.")
		return
	}
	fmt.Fprintln(r.Out, "Did not run:")
	for _, line := range lines {
		fmt.Fprintln(r.Out, "  "+line)
	}
}

// missing returns a line for each suite that did not run as a whole, and each reason for which a part of one did not.
func (r *Report) missing() []string {
	var lines []string
	for _, s := range r.sorted() {
		if s.unbuilt {
			lines = append(lines, s.name+": did not run: it does not build")
			continue
		}
		if !s.ended {
			lines = append(lines, s.name+": did not run to its end")
		}
		byReason := map[string][]string{}
		for _, skipped := range s.skipped {
			byReason[skipped.reason] = append(byReason[skipped.reason], skipped.test)
		}
		for _, reason := range slices.Sorted(maps.Keys(byReason)) {
			tests := byReason[reason]
			what := strings.Join(tests, ", ")
			if len(tests) > 3 {
				what = fmt.Sprintf("%d of %d tests", len(tests), s.tops)
			}
			if s.topSkip == s.tops && len(byReason) == 1 {
				lines = append(lines, fmt.Sprintf("%s: did not run: %s", s.name, reason))
			} else {
				lines = append(lines, fmt.Sprintf("%s: %s did not run: %s", s.name, what, reason))
			}
		}
	}
	return lines
}

func (r *Report) sorted() []*suite {
	return slices.SortedFunc(maps.Values(r.packages), func(a, b *suite) int { return cmp.Compare(a.name, b.name) })
}

var position = regexp.MustCompile(`^\S+\.go:\d+: `)

// reason finds in a skipped test's output what t.Skip was told: the last line that says something, without its position.
func reason(text string) string {
	for _, line := range slices.Backward(strings.Split(text, "\n")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "=== ") {
			continue
		}
		return position.ReplaceAllString(line, "")
	}
	return "it does not say why"
}
