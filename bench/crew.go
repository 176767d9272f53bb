package main

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
)

// A crew is worker processes that want one name.
type crew struct {
	workers []*worker
}

type worker struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr strings.Builder
}

const crewPatience = 30 * time.Second // on top of the restart window, the ramp and the window

var crews atomic.Int64 // each wants a name of its own

// measure adds a round.
func (r *contentionRow) measure(ctx context.Context, j job) error {
	ctx, cancel := context.WithTimeout(ctx, j.TTL+j.Ramp+j.Window+crewPatience)
	defer cancel()
	j.Name = fmt.Sprintf("bench:contention:%d:%d", os.Getpid(), crews.Add(1))
	var c crew
	defer c.end()
	for range r.Shape.Processes {
		if err := c.hire(ctx, j); err != nil {
			return err
		}
	}
	hauls, err := c.work()
	if err != nil {
		return errors.Join(err, ctx.Err())
	}
	r.Rounds = append(r.Rounds, roundOf(hauls))
	return nil
}

// hire starts a worker: this program once more.
func (c *crew) hire(ctx context.Context, j job) error {
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
	c.workers = append(c.workers, w)
	return nil
}

// work waits until all are ready, lets them begin at once, and gathers what they got.
func (c *crew) work() ([]haul, error) {
	for _, w := range c.workers {
		if line, err := w.stdout.ReadString('\n'); err != nil || strings.TrimSpace(line) != saysReady {
			return nil, fmt.Errorf("a worker did not get ready: %q, %w; %s", line, err, w.stderr.String())
		}
	}
	for _, w := range c.workers {
		if _, err := fmt.Fprintln(w.stdin); err != nil {
			return nil, err
		}
	}
	hauls := make([]haul, len(c.workers))
	var all errgroup.Group
	for i, w := range c.workers {
		all.Go(func() error {
			if err := json.NewDecoder(w.stdout).Decode(&hauls[i]); err != nil {
				return fmt.Errorf("a worker ended without a result: %w", err)
			}
			return nil
		})
	}
	return hauls, all.Wait()
}

// end ends every worker and waits for it: one that has done its job ends by itself.
func (c *crew) end() {
	for _, w := range c.workers {
		w.stdin.Close()
		gone := time.AfterFunc(contendDrain, func() { _ = w.cmd.Process.Kill() })
		_ = w.cmd.Wait() // what it says has been read, or is missed
		gone.Stop()
	}
}

// roundOf is what all workers together got.
func roundOf(hauls []haul) contentionRound {
	var r contentionRound
	var goroutines, processes []int64
	var longest, elapsed time.Duration
	all := histogram()
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
	r.Goroutines, r.Processes = fairness(goroutines), fairness(processes)
	r.Waits = waitsOf(all, longest)
	return r
}
