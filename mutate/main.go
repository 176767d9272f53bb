// Command mutate changes a package in one place at a time and runs the tests of that package, and for the root package
// those of the packages that test the whole stack: a test should fail.
//
//	go run ./mutate
//	go run ./mutate -sample 100 quorum internal/wire
//	go run ./mutate -sample 120 .
//	go run ./mutate -only 'tally.add' -v quorum
//
// All mutants of a package are compiled into one test binary, each with a switch, and no source file is changed. A
// mutant is tried with the tests that reach its place. Scripts (lua/*.lua) are changed without a compiler. The exit
// status is 1 if fewer than 90 % of the mutants that are not equivalent are killed, if a survivor is not listed in
// known.txt, or if a test kills a mutant that known.txt lists as equivalent.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	var o options
	flag.IntVar(&o.sample, "sample", 0, "try `N` mutants of each package, drawn at random; 0: all")
	flag.StringVar(&o.only, "only", "", "try the mutants whose text contains `TEXT`")
	flag.BoolVar(&o.verbose, "v", false, "print every verdict")
	flag.Parse()
	dirs := flag.Args()
	if len(dirs) == 0 {
		dirs = standard
	}
	if err := run(o, dirs); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// standard are the packages that are mutated if none is named. The root package (.) follows when its gaps are closed:
// of a sample of 120 mutants 20 survive.
var standard = []string{
	"quorum", "clock", "internal/keepalive", "internal/waitqueue", "internal/contention", "internal/kind", "internal/resp",
	"internal/link", "internal/wire",
}

// users are the packages whose tests also judge the mutants of a package.
var users = map[string][]string{
	".":             {"internal/stacktest", "election", "keyed"},
	"internal/resp": {"internal/link", "internal/wire"},
	"internal/link": {"internal/wire"},
	"internal/wire": {"internal/stacktest"},
}

// slow is how long a test may take. Slower ones are left out.
const slow = 40 * time.Second

type options struct {
	sample  int
	only    string
	verbose bool
}

func run(o options, dirs []string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	reasons, err := parseKnown(knownText)
	if err != nil {
		return fmt.Errorf("known.txt: %w", err)
	}
	failed := false
	var rows []string
	for _, dir := range dirs {
		s, err := tryPackage(root, strings.TrimPrefix(filepath.ToSlash(filepath.Clean(dir)), "./"), o, reasons)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		rows = append(rows, s.row(dir))
		failed = failed || !s.sound()
	}
	fmt.Println("| package | mutants | killed | of these by timeout | equivalent | survive | " +
		"killed, without the equivalent | seconds |")
	fmt.Printf("|---|---|---|---|---|---|---|---|\n%s\n", strings.Join(rows, "\n"))
	if failed {
		return errors.New("too few mutants are killed, or known.txt does not list a survivor, " +
			"or lists a killed mutant as equivalent")
	}
	return nil
}

// score counts the mutants of a package.
type score struct {
	mutants, killed, timedOut, equivalent, unlisted int
	refuted                                         int // killed by a test, but listed as equivalent

	took time.Duration
}

// share returns how many percent of the mutants that are not equivalent are killed.
func (s score) share() float64 {
	if s.mutants == s.equivalent {
		return 100
	}
	return 100 * float64(s.killed) / float64(s.mutants-s.equivalent)
}

// sound reports whether enough mutants are killed and known.txt agrees with the verdicts.
func (s score) sound() bool { return s.share() >= 90 && s.unlisted == 0 && s.refuted == 0 }

func (s score) row(dir string) string {
	return fmt.Sprintf(
		"| %s | %d | %d | %d | %d | %d | %.1f %% | %.0f |", dir, s.mutants, s.killed, s.timedOut, s.equivalent,
		s.mutants-s.killed-s.equivalent, s.share(), s.took.Seconds(),
	)
}

// tryPackage tries the mutants of a package and of its scripts.
func tryPackage(root, dir string, o options, reasons map[string]string) (score, error) {
	begin := time.Now()
	p, mutants, changed, err := instrument(root, dir)
	if err != nil {
		return score{}, err
	}
	scripts, err := luaMutants(root, dir)
	if err != nil {
		return score{}, err
	}
	mutants = append(mutants, scripts...)
	for _, key := range old(dir, mutants, reasons) {
		fmt.Printf("listed in known.txt, and not there any more: %s\n", key)
	}
	mutants = slices.DeleteFunc(mutants, func(m *mutant) bool { return !strings.Contains(m.String(), o.only) })
	mutants = sample(mutants, o.sample)
	folder, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return score{}, err
	}
	defer os.RemoveAll(folder)
	b := &bench{folder: folder, log: func(format string, args ...any) { fmt.Printf(format+"\n", args...) }}
	judges := []string{p.Dir}
	for _, user := range users[dir] {
		judges = append(judges, filepath.Join(root, user))
	}
	if err := b.build(judges, changed); err != nil {
		return score{}, err
	}
	if err := b.trace(slow); err != nil {
		return score{}, err
	}
	ready := time.Since(begin).Seconds()
	fmt.Printf("%s: %d mutants, %d tests, ready after %.0f s\n", dir, len(mutants), len(b.tests), ready)
	s := score{mutants: len(mutants)}
	for _, m := range mutants {
		v, err := b.try(m)
		if err != nil {
			return score{}, err
		}
		s.count(m, v, reasons[m.key()], o.verbose)
	}
	s.took = time.Since(begin)
	return s, nil
}

// old returns the listed mutants of a package that do not exist any more, sorted.
func old(dir string, mutants []*mutant, reasons map[string]string) (keys []string) {
	there := make(map[string]bool)
	for _, m := range mutants {
		there[m.key()] = true
	}
	for key := range reasons {
		file, _, _ := strings.Cut(key, " ")
		if strings.TrimSuffix(path.Dir(strings.TrimSuffix(file, ":")), "/lua") == dir && !there[key] {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// count counts a mutant, and prints it if it survives unlisted or is listed and does not survive.
func (s *score) count(m *mutant, v verdict, reason string, verbose bool) {
	note := ""
	switch {
	case v == killed || v == timedOut:
		s.killed++
		if v == timedOut {
			s.timedOut++
		}
		if reason != "" {
			note = " but listed"
		}
		if v == killed && equivalent(reason) { // a busy machine, too, can time a test out
			s.refuted++
		}
	case equivalent(reason):
		s.equivalent++
	case reason == "":
		s.unlisted++
		note = ", not listed"
	}
	if note != "" || verbose {
		fmt.Printf("%s%s: %s\n", v, note, m)
	}
}
