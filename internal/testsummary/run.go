package testsummary

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
)

// progressEvery is how often it is told which tests are running.
const progressEvery = 15 * time.Second

// Run runs go test with args in dir, prints to out what go test would and then the summary, tells progress every now and
// then what is running, and returns the exit status of go test. An error means that go test could not be run, or heard.
func Run(ctx context.Context, dir string, args, elsewhere []string, out, progress io.Writer) (status int, err error) {
	list := exec.CommandContext(ctx, "go", "list", "-m")
	list.Dir, list.Stderr = dir, progress
	module, err := list.Output()
	if err != nil {
		return 0, fmt.Errorf("go list -m: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, progress
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	stream, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begin := clock.System.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	report := &Report{Module: strings.TrimSpace(string(module)), Out: out}
	readErr := read(stream, report, progress)
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
	report.Summary(clock.System.Now().Sub(begin), elsewhere)
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
