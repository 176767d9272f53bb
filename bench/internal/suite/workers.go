package suite

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/report"
)

// workers are the processes that contend for one name.
type workers struct {
	all []*worker
}

type worker struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr strings.Builder
}

const workersTimeout = 30 * time.Second // in addition to the restart window, the ramp and the window

var nextName atomic.Int64 // numbers the names, one for each round

// addContentionRound starts worker processes of the row's shape, lets them contend for one name, and adds their results
// to the row as one round.
func addContentionRound(ctx context.Context, r *report.ContentionRow, j job) error {
	ctx, cancel := context.WithTimeout(ctx, j.TTL+j.Ramp+j.Window+workersTimeout)
	defer cancel()
	j.Name = fmt.Sprintf("bench:contention:%d:%d", os.Getpid(), nextName.Add(1))
	var c workers
	defer c.stop()
	for range r.Shape.Processes {
		if err := c.start(ctx, j); err != nil {
			return err
		}
	}
	hauls, err := c.collect()
	if err != nil {
		return errors.Join(err, ctx.Err())
	}
	r.Rounds = append(r.Rounds, roundOf(hauls))
	return nil
}

// start starts a worker, which is another process of this program.
func (c *workers) start(ctx context.Context, j job) error {
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	w := &worker{cmd: exec.CommandContext(ctx, self)}
	w.cmd.Env = append(os.Environ(), workerVariable+"="+string(text))
	w.cmd.Stderr = &w.stderr
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		return err
	}
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	w.stdout = bufio.NewReader(stdout)
	if err := w.cmd.Start(); err != nil {
		return err
	}
	c.all = append(c.all, w)
	return nil
}

// collect waits until all workers are ready, starts them together, and returns their results.
func (c *workers) collect() ([]results, error) {
	for _, w := range c.all {
		if line, err := w.stdout.ReadString('\n'); err != nil || strings.TrimSpace(line) != readyLine {
			return nil, fmt.Errorf("a worker did not get ready: %q, %w; %s", line, err, w.stderr.String())
		}
	}
	for _, w := range c.all {
		if _, err := fmt.Fprintln(w.stdin); err != nil {
			return nil, err
		}
	}
	hauls := make([]results, len(c.all))
	var all errgroup.Group
	for i, w := range c.all {
		all.Go(func() error {
			if err := json.NewDecoder(w.stdout).Decode(&hauls[i]); err != nil {
				return fmt.Errorf("a worker ended without a result: %w", err)
			}
			return nil
		})
	}
	return hauls, all.Wait()
}

// stop ends every worker and waits for it. A worker that has done its job ends by itself.
func (c *workers) stop() {
	for _, w := range c.all {
		w.stdin.Close()
		gone := time.AfterFunc(contendDrain, func() { _ = w.cmd.Process.Kill() })
		_ = w.cmd.Wait() // its output has been read, or is reported missing
		gone.Stop()
	}
}

// roundOf merges the results of all workers.
func roundOf(hauls []results) report.ContentionRound {
	var r report.ContentionRound
	var goroutines, processes []int64
	var longest, elapsed time.Duration
	all := load.NewHistogram()
	for _, h := range hauls {
		var sum int64
		for _, n := range h.Got {
			sum += n
		}
		goroutines, processes = append(goroutines, h.Got...), append(processes, sum)
		r.Acquired += sum
		r.Overlaps += h.Overlaps
		r.Failed += h.Failed
		if r.Failure == "" {
			r.Failure = strings.Join(strings.Fields(h.Failure), " ")
		}
		longest, elapsed = max(longest, h.Longest), max(elapsed, h.Elapsed)
		if h.Waits != nil {
			all.Merge(hdrhistogram.Import(h.Waits))
		}
	}
	r.PerSecond = float64(r.Acquired) / elapsed.Seconds()
	r.Goroutines, r.Processes = load.Fairness(goroutines), load.Fairness(processes)
	r.Least = load.LeastByMean(goroutines)
	r.Waits = load.WaitsOf(all, longest)
	return r
}
