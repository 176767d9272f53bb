package suite

import (
	"bufio"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
)

// workerVariable is the environment variable with the job of a worker, a process that bench starts to contend for a
// name.
const workerVariable = "REDLOCK_BENCH_JOB"

// A job says what a worker does.
type job struct {
	Contestant string
	URLs       []string
	TTL        time.Duration
	Name       string
	Goroutines int
	Slots      int           // how many may hold the name at the same time
	Hold       time.Duration // how long a goroutine holds the name
	Distinct   bool          // every goroutine has a name of its own
	Ramp       time.Duration // time before the measurement
	Window     time.Duration
}

// results are the acquisitions and waits of one worker's goroutines.
type results struct {
	Got      []int64 // acquisitions of each goroutine within the window
	Waits    []time.Duration
	Overlaps int64 // number of times that more goroutines of this process held a name together than may
	Failed   int
	Failure  string
}

// readyLine is what a worker prints when it is ready. It begins when its parent writes a line.
const readyLine = "ready"

// isWorker reports whether this process was started as a worker.
func isWorker() bool { return os.Getenv(workerVariable) != "" }

// runAsWorker does the job of this process and returns its exit status.
func runAsWorker(stdout, stderr io.Writer) int {
	if err := runJob(os.Getenv(workerVariable), os.Stdin, stdout); err != nil {
		fmt.Fprintln(stderr, "bench worker:", err)
		return exitFailed
	}
	return 0
}

// runJob does a job. It prints readyLine when it is ready, waits for a line on in, and writes the results.
func runJob(text string, in io.Reader, out io.Writer) (err error) {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	found := peers.Named([]string{j.Contestant}, "")
	if len(found) != 1 {
		return fmt.Errorf("no contestant is called %q", j.Contestant)
	}
	c, ctx := found[0], context.Background()
	options := peers.Options{TTL: j.TTL, Pool: j.Goroutines + 2, Waits: true}
	if err := ready(ctx, c, j.URLs, options); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	first, err := c.Acquire(ctx, fmt.Sprintf("%s:%d", j.Name, os.Getpid())) // warms up
	if err != nil {
		return err
	}
	if err := first.Unlock(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, readyLine)
	if _, err := bufio.NewReader(in).ReadString('\n'); err != nil {
		return fmt.Errorf("the parent is gone: %w", err)
	}
	return gob.NewEncoder(out).Encode(j.contend(ctx, c))
}

const contendDrain = 5 * time.Second // for the last unlocks

// contend has every goroutine acquire and release the name until the window is over. A wait that the end of the window
// interrupts counts with its duration so far, because a goroutine that got nothing must show in the results.
func (j job) contend(ctx context.Context, l load.Locker) results {
	begin := time.Now().Add(j.Ramp)
	end := begin.Add(j.Window)
	waiting, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	unlocking, cancelUnlocks := context.WithDeadline(ctx, end.Add(contendDrain))
	defer cancelUnlocks()
	h := results{Got: make([]int64, j.Goroutines)}
	var mu sync.Mutex
	var inside, overlaps atomic.Int64
	var everybody sync.WaitGroup
	most := int64(max(1, j.Slots))
	if j.Distinct {
		most = int64(j.Goroutines)
	}
	for i := range j.Goroutines {
		name := j.Name
		if j.Distinct {
			name = fmt.Sprintf("%s:%d:%d", j.Name, os.Getpid(), i)
		}
		everybody.Go(func() {
			var waits []time.Duration
			var failed int
			var failure error
			for asked := time.Now(); asked.Before(end); asked = time.Now() {
				held, err := l.Acquire(waiting, name)
				now := time.Now()
				if err == nil {
					if inside.Add(1) > most {
						overlaps.Add(1)
					}
					if j.Hold > 0 {
						time.Sleep(j.Hold)
					} else {
						runtime.Gosched() // gives another holder the chance to enter now
					}
					inside.Add(-1)
					err = held.Unlock(unlocking)
					if now.After(begin) && now.Before(end) {
						waits = append(waits, now.Sub(asked))
						h.Got[i]++
					}
				} else if waiting.Err() != nil {
					waits = append(waits, end.Sub(asked))
					break
				}
				if err != nil {
					failed, failure = failed+1, err
					_ = load.Sleep(waiting, time.Millisecond) // so that failures cause no busy loop
				}
			}
			mu.Lock()
			defer mu.Unlock()
			h.Waits = append(h.Waits, waits...)
			h.Failed += failed
			if failure != nil {
				h.Failure = failure.Error()
			}
		})
	}
	everybody.Wait()
	h.Overlaps = overlaps.Load()
	return h
}

type worker struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr strings.Builder
}

const workersTimeout = 30 * time.Second // in addition to the restart window, the ramp and the window

var nextName atomic.Int64 // numbers the names, one for each round

// runWorkers starts worker processes, lets them contend for a new name together, and returns their results.
func runWorkers(ctx context.Context, j job, processes int) (all []results, err error) {
	ctx, cancel := context.WithTimeout(ctx, j.TTL+j.Ramp+j.Window+workersTimeout)
	defer cancel()
	j.Name = fmt.Sprintf("bench:contention:%d:%d", os.Getpid(), nextName.Add(1))
	var workers []*worker
	for range processes {
		w, err := startWorker(ctx, j)
		if err != nil {
			return nil, err
		}
		defer w.stop()
		workers = append(workers, w)
	}
	for _, w := range workers {
		if line, err := w.stdout.ReadString('\n'); err != nil || strings.TrimSpace(line) != readyLine {
			return nil, fmt.Errorf("a worker did not get ready: %q, %w; %s", line, errors.Join(err, ctx.Err()),
				w.stderr.String())
		}
	}
	for _, w := range workers {
		if _, err := fmt.Fprintln(w.stdin); err != nil {
			return nil, err
		}
	}
	all = make([]results, processes)
	var group errgroup.Group
	for i, w := range workers {
		group.Go(func() error {
			if err := gob.NewDecoder(w.stdout).Decode(&all[i]); err != nil {
				return fmt.Errorf("a worker ended without a result: %w", errors.Join(err, ctx.Err()))
			}
			return nil
		})
	}
	return all, group.Wait()
}

// startWorker starts a worker, which is another process of this program.
func startWorker(ctx context.Context, j job) (*worker, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &worker{cmd: exec.CommandContext(ctx, self)}
	w.cmd.Env = append(os.Environ(), workerVariable+"="+string(text))
	w.cmd.Stderr = &w.stderr
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.stdout = bufio.NewReader(stdout)
	return w, w.cmd.Start()
}

// stop ends the worker and waits for it. A worker that has done its job ends by itself.
func (w *worker) stop() {
	w.stdin.Close()
	gone := time.AfterFunc(contendDrain, func() { _ = w.cmd.Process.Kill() })
	_ = w.cmd.Wait() // its output has been read, or is reported missing
	gone.Stop()
}
