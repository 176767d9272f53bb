package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bench is the test binaries of a package, and of packages whose tests use it, with all of its mutants in them.
type bench struct {
	folder  string // for temporary files
	suites  []suite
	tests   []test        // the shortest first
	reached map[int][]int // the tests that reach a mutant, as indexes of tests
	log     func(format string, args ...any)
}

// suite is a test binary, and the directory of its package, where its tests run.
type suite struct{ dir, binary string }

// test is a test, or a subtest of a long one, that passes without a mutant.
type test struct {
	suite   suite
	name    string
	took    time.Duration
	reaches []int // mutants
}

// pattern is the value of -test.run for a test.
func (t test) pattern() string {
	parts := strings.Split(t.name, "/")
	for i := range parts {
		parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
	}
	return strings.Join(parts, "/")
}

// verdict is what the tests say to a mutant.
type verdict string

const (
	killed    verdict = "killed"
	timedOut  verdict = "timed out" // the tests did not end: a kill, too
	survived  verdict = "survived"
	unreached verdict = "not reached"
)

// build compiles the tests in some directories with the changed files.
func (b *bench) build(dirs []string, changed map[string][]byte) error {
	overlay := struct{ Replace map[string]string }{make(map[string]string)}
	for file, text := range changed {
		copied := filepath.Join(b.folder, filepath.Base(file))
		if err := os.WriteFile(copied, text, 0o600); err != nil {
			return err
		}
		overlay.Replace[file] = copied
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	file := filepath.Join(b.folder, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	for i, dir := range dirs {
		s := suite{dir, filepath.Join(b.folder, fmt.Sprintf("mutants%d.test", i))}
		cmd := exec.Command("go", "test", "-c", "-overlay", file, "-o", s.binary, ".")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("the mutants do not compile: %w\n%s", err, out)
		}
		b.suites = append(b.suites, s)
	}
	return nil
}

// long is how long a test takes whose subtests are run alone.
const long = time.Second

var subtest = regexp.MustCompile(`(?m)^    --- PASS: (\S+) \(`)

// trace runs every test alone, without a mutant, and notes how long it takes and which mutants it reaches. A long test
// is replaced by its subtests. Tests that fail, are skipped or take longer than slow are left out.
func (b *bench) trace(slow time.Duration) error {
	for _, s := range b.suites {
		list, err := s.command(context.Background(), "-test.list", ".").Output()
		if err != nil {
			return err
		}
		for _, name := range regexp.MustCompile(`(?m)^(Test|Example|Fuzz)\w*$`).FindAllString(string(list), -1) {
			tests, err := b.split(s, name, 10*slow)
			if err != nil {
				return err
			}
			for _, t := range tests {
				if t.took <= slow {
					b.tests = append(b.tests, t)
				} else {
					b.log("left out, because it takes %.1f s: %s", t.took.Seconds(), t.name)
				}
			}
		}
	}
	slices.SortStableFunc(b.tests, func(x, y test) int { return cmp.Compare(x.took, y.took) })
	b.reached = make(map[int][]int)
	for i, t := range b.tests {
		for _, id := range t.reaches {
			b.reached[id] = append(b.reached[id], i)
		}
	}
	return nil
}

// split measures a test. For a long one it returns its subtests, if each passes alone. It returns none if the test does
// not pass.
func (b *bench) split(s suite, name string, limit time.Duration) ([]test, error) {
	whole, out, why, err := b.measure(s, name, limit)
	if why != "" {
		b.log("left out, because it %s", why)
	}
	if err != nil || whole == nil {
		return nil, err
	}
	subtests := subtest.FindAllSubmatch(out, -1)
	if whole.took < long || len(subtests) < 2 {
		return []test{*whole}, nil
	}
	var parts []test
	for _, sub := range subtests {
		part, _, why, err := b.measure(s, string(sub[1]), limit)
		if err != nil {
			return nil, err
		}
		if why != "" {
			return []test{*whole}, nil // the test needs all of them
		}
		parts = append(parts, *part)
	}
	return parts, nil
}

// measure runs a test without a mutant. If the test does not pass, it returns why.
func (b *bench) measure(s suite, name string, limit time.Duration) (_ *test, out []byte, why string, err error) {
	t := test{suite: s, name: name}
	file := filepath.Join(b.folder, "trace")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return nil, nil, "", err
	}
	begin := time.Now()
	status, out := s.run(t.pattern(), limit, "MUTANT_TRACE="+file)
	t.took = time.Since(begin)
	switch {
	case status == timedOut:
		return nil, out, fmt.Sprintf("takes longer than %v: %s", limit, name), nil
	case status == killed:
		return nil, out, fmt.Sprintf("fails without a mutant: %s\n%s", name, out), nil
	case bytes.Contains(out, []byte("--- SKIP: "+name+" ")):
		return nil, out, "is skipped: " + name, nil
	}
	reached, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, "", err
	}
	for field := range strings.FieldsSeq(string(reached)) {
		id, err := strconv.Atoi(field)
		if err != nil {
			return nil, nil, "", err
		}
		t.reaches = append(t.reaches, id)
	}
	return &t, out, "", nil
}

// try runs the tests that reach a mutant, the shortest first, until one fails.
func (b *bench) try(m *mutant) (verdict, error) {
	env := "MUTANT=" + strconv.Itoa(m.id)
	reaching := b.reached[m.id]
	if m.script != "" {
		file := filepath.Join(b.folder, "mutant.lua")
		if err := os.WriteFile(file, []byte(m.script), 0o600); err != nil {
			return "", err
		}
		env = "MUTANT_FILE=lua/" + filepath.Base(m.file) + "=" + file
		for i := range b.tests {
			reaching = append(reaching, i)
		}
	}
	if len(reaching) == 0 {
		return unreached, nil
	}
	for budget := 500 * time.Millisecond; len(reaching) > 0; budget *= 8 {
		first := b.tests[reaching[0]]
		pattern, whole := first.pattern(), first.took
		reaching = reaching[1:]
		for len(reaching) > 0 && !strings.Contains(first.name, "/") {
			next := b.tests[reaching[0]]
			if next.suite != first.suite || strings.Contains(next.name, "/") || whole+next.took > budget {
				break
			}
			pattern += "|" + next.pattern()
			whole += next.took
			reaching = reaching[1:]
		}
		if status, _ := first.suite.run(pattern, 5*time.Second+5*whole, env); status != survived {
			return status, nil
		}
	}
	return survived, nil
}

// run runs the tests of a pattern. The verdict is survived if all pass.
func (s suite) run(pattern string, limit time.Duration, env string) (verdict, []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), limit+10*time.Second)
	defer cancel()
	cmd := s.command(ctx, "-test.run", pattern, "-test.failfast", "-test.v", "-test.timeout", limit.String())
	cmd.Env = append(cmd.Env, env)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil || bytes.Contains(out, []byte("panic: test timed out after")):
		return timedOut, out
	case err != nil:
		return killed, out
	default:
		return survived, out
	}
}

// command runs the binary with a bound of its memory, because a loop that a mutant does not end may allocate. PATH is
// empty, so tests that need other programs, such as redis-server, are skipped. rapid writes no files of failures.
func (s suite) command(ctx context.Context, args ...string) *exec.Cmd {
	bounded := append([]string{"-c", `ulimit -v 8000000; exec "$0" "$@"`, s.binary}, args...)
	cmd := exec.CommandContext(ctx, "/bin/sh", bounded...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "PATH=", "RAPID_NOFAILFILE=1")
	return cmd
}
