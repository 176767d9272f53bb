package testsummary_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/internal/testsummary"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Real packages, run by the real go test: name of a test file, and what it holds.
var packages = map[string]string{
	"passes": `func TestA(t *testing.T) { t.Log("chatter") }`,
	"skips": `func TestA(t *testing.T) { t.Skip("Docker is not reachable: no socket") }
		func TestB(t *testing.T) { t.Log("before"); t.Skipf("Docker is not reachable: %s", "no socket") }`,
	"partly": `func TestA(t *testing.T) {}
		func TestB(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Skip("no root") }) }
		func TestC(t *testing.T) { t.SkipNow() }`,
	"fails":   `func TestA(t *testing.T) { t.Error("one is not two") }`,
	"panics":  `func TestA(t *testing.T) { t.Log("about to"); var p *int; *p = 1 }`,
	"exits":   `func TestA(t *testing.T) { println("gone"); os.Exit(3) }`,
	"unbuilt": `func TestA(t *testing.T) { undefined() }`,
	// Once a test was run, its file is there.
	"once": `func TestA(t *testing.T) {}
		func TestB(t *testing.T) { t.Parallel(); seen(t, "b") }
		func TestC(t *testing.T) { t.Run("sub", func(t *testing.T) { seen(t, "c") }) }
		func seen(t *testing.T, file string) {
			if _, err := os.Stat(file); err == nil { return }
			os.WriteFile(file, nil, 0o644)
			t.Error("for the first time")
		}`,
	"many": `func TestMain(m *testing.M) {
			_, err := os.Stat("many")
			os.WriteFile("many", nil, 0o644)
			first = err != nil
			os.Exit(m.Run())
		}
		var first bool
		func fail(t *testing.T) { if first { t.Error("for the first time") } }
		func TestA(t *testing.T) { fail(t) }
		func TestB(t *testing.T) { fail(t) }
		func TestC(t *testing.T) { fail(t) }
		func TestD(t *testing.T) { fail(t) }
		func TestE(t *testing.T) { fail(t) }
		func TestF(t *testing.T) { fail(t) }`,
	"racy": `func TestA(t *testing.T) {
			if _, err := os.Stat("racy"); err == nil { return }
			os.WriteFile("racy", nil, 0o644)
			println("WARNING: DATA RACE")
			t.Error("race detected during execution of test")
		}`,
	"then exits": `func TestA(t *testing.T) {
			if _, err := os.Stat("exits"); err == nil { return }
			os.WriteFile("exits", nil, 0o644)
			t.Error("for the first time")
		}
		func TestB(t *testing.T) { os.Exit(3) }`,
	"then skips": `func TestA(t *testing.T) {
			if _, err := os.Stat("skips"); err == nil { t.Skip("not again") }
			os.WriteFile("skips", nil, 0o644)
			t.Error("for the first time")
		}`,
	"child": `func TestA(t *testing.T) {
			if _, err := os.Stat("child"); err == nil { return }
			os.WriteFile("child", nil, 0o644)
			t.Error("did not end well: exit status 66")
		}`,
	"felled": `func TestA(t *testing.T) {}
		func TestB(t *testing.T) {
			if _, err := os.Stat("felled"); err == nil { return }
			os.WriteFile("felled", nil, 0o644)
			println("SIGSEGV: segmentation violation\nPC=0x437b50 m=11 sigcode=1 addr=0x7fb208900000\n")
			os.Exit(2)
		}`,
	"unchecked": `func TestA(t *testing.T) {
			if _, err := os.Stat("unchecked"); err == nil { return }
			os.WriteFile("unchecked", nil, 0o644)
			println("ThreadSanitizer: CHECK failed: tsan_rtl.cpp:346 (0x0, 0x0) (tid=9022)")
			os.Exit(66)
		}`,
	"excepted": `func TestA(t *testing.T) { t.Error("in another schedule") }`,
	"leaves": `func TestMain(m *testing.M) {
			m.Run()
			if _, err := os.Stat("leaves"); err == nil { os.Exit(0) }
			os.WriteFile("leaves", nil, 0o644)
			os.Exit(1)
		}
		func TestA(t *testing.T) {}`,
}

// run makes a module of some of the packages and runs its tests.
func run(t *testing.T, names []string, o testsummary.Options) (status int, out string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write("go.mod", "module example.com/m\n\ngo 1.26\n")
	for _, name := range names {
		imports := `import "testing"`
		if strings.Contains(packages[name], "os.") {
			imports += "\nimport \"os\""
		}
		write(strings.ReplaceAll(name, " ", "")+"/x_test.go", "package x\n"+imports+"\n"+packages[name])
	}
	var text, progress bytes.Buffer
	o.Dir, o.Out, o.Progress = dir, &text, &progress
	status, err := testsummary.Run(t.Context(), []string{"-count=1", "-p", "1", "./..."}, o)
	require.NoError(t, err, progress.String())
	return status, text.String()
}

func TestSummary(t *testing.T) {
	for name, test := range map[string]struct {
		packages  []string
		elsewhere []string
		status    int
		want      []string
		not       []string
	}{
		"all that ran is said to have run": {
			packages: []string{"passes"},
			want:     []string{"ok  \texample.com/m/passes", "Tests: 1 passed, 0 failed, 0 skipped", "Every suite ran."},
			not:      []string{"chatter", "Did not run", "PASS"},
		},
		"a suite of skipped tests did not run, though go test calls it ok": {
			packages: []string{"passes", "skips"},
			want:     []string{"ok  \texample.com/m/skips", "Did not run:\n  skips: did not run: Docker is not reachable: no socket\n"},
			not:      []string{"Every suite ran", "before"},
		},
		"a part that was skipped is named": {
			packages: []string{"partly"},
			want:     []string{"partly: TestB/sub did not run: no root", "partly: TestC did not run: it does not say why", "Tests: 2 passed, 0 failed, 2 skipped"},
		},
		"what failed keeps its output and go test's lines and status": {
			packages: []string{"passes", "fails"},
			status:   1,
			want:     []string{"one is not two", "--- FAIL: TestA", "FAIL\texample.com/m/fails", "ok  \texample.com/m/passes", "Failed: fails."},
		},
		"a panic is shown": {
			packages: []string{"panics"},
			status:   1,
			want:     []string{"about to", "nil pointer dereference", "FAIL\texample.com/m/panics", "Failed: panics."},
		},
		"a test process that ends by itself fails": {
			packages: []string{"exits"},
			status:   1,
			want:     []string{"gone", "FAIL\texample.com/m/exits", "Failed: exits."},
		},
		"a package that does not build did not run": {
			packages: []string{"passes", "unbuilt"},
			status:   1,
			want:     []string{"undefined: undefined", "FAIL\texample.com/m/unbuilt [build failed]", "unbuilt: did not run: it does not build", "Failed: unbuilt."},
		},
		"what is run elsewhere is told": {
			packages:  []string{"passes"},
			elsewhere: []string{"chaos: make chaos runs it"},
			want:      []string{"Did not run:\n  chaos: make chaos runs it\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, out := run(t, test.packages, testsummary.Options{Elsewhere: test.elsewhere})
			assert.Equal(t, test.status, status)
			for _, want := range test.want {
				assert.Contains(t, out, want)
			}
			for _, not := range test.not {
				assert.NotContains(t, out, not)
			}
		})
	}
}

func TestWhatFailedIsRunAgainAlone(t *testing.T) {
	const again = "Once more, alone: "
	for name, test := range map[string]struct {
		packages []string
		status   int
		want     []string
		not      []string
	}{
		"and passes": {
			packages: []string{"passes", "once"},
			want: []string{
				"for the first time", "--- FAIL: TestB", "Tests: 2 passed, 3 failed", again + "once: TestC, TestB (3 times)\n",
				"Failed, and then passed alone: once: TestC, TestB (3 times).",
			},
		},
		"and fails": {packages: []string{"once", "fails"}, status: 1, want: []string{again + "fails: TestA (3 times)\n"}, not: []string{"and then passed"}},
		"what the race detector has felled is run as a whole": {
			packages: []string{"felled", "once"},
			want: []string{
				again + "felled, which the race detector had felled (once)\n", again + "once: ",
				"Failed, and then passed alone: felled, which the race detector had felled (once); once: ",
			},
		},
		"so is what a failed check of the race detector has": {
			packages: []string{"unchecked"},
			want:     []string{"Failed, and then passed alone: unchecked, which the race detector had felled (once)"},
		},
		"not if too many have":                        {packages: []string{"many"}, status: 1, want: []string{"Tests: 0 passed, 6 failed"}, not: []string{again}},
		"not if there was a data race":                {packages: []string{"racy", "once"}, status: 1, not: []string{again}},
		"not if there was a panic":                    {packages: []string{"panics"}, status: 1, not: []string{again}},
		"not if a package failed otherwise":           {packages: []string{"leaves"}, status: 1, want: []string{"Failed: leaves."}, not: []string{again}},
		"not if a process ended by itself":            {packages: []string{"exits", "once"}, status: 1, not: []string{again}},
		"not if one failed, and then a process ended": {packages: []string{"then exits"}, status: 1, not: []string{again}},
		"not if a process of its own saw a data race": {packages: []string{"child"}, status: 1, not: []string{again}},
		"not where other things are drawn each time":  {packages: []string{"excepted", "once"}, status: 1, not: []string{again}},
		"and is skipped":                              {packages: []string{"then skips"}, status: 1, want: []string{again}, not: []string{"and then passed"}},
		"not if one does not build":                   {packages: []string{"unbuilt", "once"}, status: 1, not: []string{again}},
		"nothing failed":                              {packages: []string{"passes"}, want: []string{"Every suite ran."}, not: []string{again}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, out := run(t, test.packages, testsummary.Options{Again: 3, Except: []string{"excepted"}})
			assert.Equal(t, test.status, status, out)
			for _, want := range test.want {
				assert.Contains(t, out, want)
			}
			for _, not := range test.not {
				assert.NotContains(t, out, not)
			}
		})
	}
}

func TestManySkipsForOneReasonAreOneLine(t *testing.T) {
	var out bytes.Buffer
	report := testsummary.Report{Module: "m", Out: &out}
	for _, test := range []string{"TestA", "TestB", "TestC", "TestD", "TestE"} {
		action := "skip"
		if test == "TestE" {
			action = "pass"
		}
		report.Take(testsummary.Event{Action: "run", Package: "m/p", Test: test})
		report.Take(testsummary.Event{Action: "output", Package: "m/p", Test: test, Output: "    a_test.go:7: no Docker\n"})
		report.Take(testsummary.Event{Action: action, Package: "m/p", Test: test})
	}
	assert.Equal(t, []string{"p"}, report.Running(), "until it ends")
	report.Take(testsummary.Event{Action: "pass", Package: "m/p"})
	assert.Empty(t, report.Running())
	report.Summary(0, nil)
	assert.Contains(t, out.String(), "p: 4 of 5 tests did not run: no Docker\n")
}

func TestASuiteThatNeverEndedIsNamed(t *testing.T) {
	var out bytes.Buffer
	report := testsummary.Report{Module: "m", Out: &out}
	report.Take(testsummary.Event{Action: "start", Package: "m/p"})
	report.Take(testsummary.Event{Action: "run", Package: "m/p", Test: "TestA"})
	assert.Equal(t, []string{"p (TestA)"}, report.Running())
	report.Summary(0, nil)
	assert.Contains(t, out.String(), "p: did not run to its end")
	assert.Contains(t, out.String(), "Failed: p.")
}
