package testsummary

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
)

// progressEvery is how often it is told which tests are running.
const progressEvery = 15 * time.Second

// Options are what a run does besides running go test.
type Options struct {
	// Dir is where go test is run; "" is the working directory.
	Dir string
	// Elsewhere are lines about suites that are known not to be a part of this run.
	Elsewhere []string
	// Again: so many times is each test run that failed, alone, after the others. If each passes each time, the run has not failed, and
	// the last line names them. That is for machines that stand still for seconds, where a test that keeps time may fail. It is not
	// done if more than five failed, or after a data race, a panic, or a package that failed without a test; nor if one of the
	// packages named in Except failed, as ones that draw something else each time. A package whose tests were felled by a
	// segmentation violation outside of Go, as the race detector's, counts as one test, and is run once.
	Again  int
	Except []string
	// Out is told what go test would print, and then the summary; Progress every now and then what is running.
	Out, Progress io.Writer
}

// Run runs go test with args, and returns its exit status. An error means that go test could not be run, or heard.
func Run(ctx context.Context, args []string, o Options) (status int, err error) {
	list := exec.CommandContext(ctx, "go", "list", "-m")
	list.Dir, list.Stderr = o.Dir, o.Progress
	module, err := list.Output()
	if err != nil {
		return 0, fmt.Errorf("go list -m: %w", err)
	}
	begin := clock.System.Now()
	// A workspace has several modules. Their paths begin with that of the one at its root, which comes first.
	root, _, _ := strings.Cut(string(module), "\n")
	report := &Report{Module: root, Out: o.Out}
	status, err = o.test(ctx, args, report)
	report.Summary(clock.System.Now().Sub(begin), o.Elsewhere)
	if status == 0 || o.Again == 0 || err != nil {
		return status, err
	}
	return o.again(ctx, args, report, status)
}

// again runs once more what failed, if it may, and returns the exit status of it all.
func (o Options) again(ctx context.Context, args []string, first *Report, status int) (int, error) {
	var passed []string
	tests := first.retry(o.Except)
	for _, pkg := range slices.Sorted(maps.Keys(tests)) {
		what := fmt.Sprintf("%s: %s (%d times)", first.packages[pkg].name, strings.Join(tests[pkg], ", "), o.Again)
		if tests[pkg] == nil {
			what = first.packages[pkg].name + ", which the race detector had felled (once)"
		}
		fmt.Fprintf(o.Out, "\nOnce more, alone: %s\n", what)
		second := &Report{Module: first.Module, Out: o.Out}
		if _, err := o.test(ctx, alone(args, pkg, tests[pkg], o.Again), second); err != nil || !second.passedAll(pkg, tests[pkg], o.Again) {
			return status, err
		}
		passed = append(passed, what)
	}
	if len(passed) == 0 {
		return status, nil
	}
	fmt.Fprintf(o.Out, "\nFailed, and then passed alone: %s.\n", strings.Join(passed, "; "))
	return 0, nil
}

// test runs go test, tells the report, and returns the exit status.
func (o Options) test(ctx context.Context, args []string, report *Report) (status int, err error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Dir, cmd.Stderr = o.Dir, o.Progress
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	stream, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	readErr := read(stream, report, o.Progress)
	if err := cmd.Wait(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			return 0, err
		}
		status = exit.ExitCode()
		if status < 0 { // ended by a signal
			status = 1
		}
	}
	return status, readErr
}

// read passes the events of stream to report until it ends. Lines that are no events are passed through.
func read(stream io.Reader, report *Report, progress io.Writer) error {
	var mu sync.Mutex // over report
	var ticking sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	defer ticking.Wait()
	defer stop()
	ticking.Go(func() {
		for clock.Sleep(ctx, clock.System, progressEvery) == nil {
			mu.Lock()
			running := report.Running()
			mu.Unlock()
			if len(running) > 0 {
				fmt.Fprintf(progress, "... at %s\n", strings.Join(running, ", "))
			}
		}
	})
	for lines := bufio.NewReader(stream); ; {
		line, err := lines.ReadBytes('\n')
		mu.Lock()
		var e Event
		switch {
		case len(bytes.TrimSpace(line)) == 0:
		case json.Unmarshal(line, &e) == nil:
			report.Take(e)
		default:
			fmt.Fprintf(report.Out, "%s", line)
		}
		mu.Unlock()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
