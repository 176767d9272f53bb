package suite

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

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
	Slots      int           // how many may hold the name at the same time; 0: one
	Hold       time.Duration // how long a goroutine holds the name
	Distinct   bool          // every goroutine has a name of its own
	Ramp       time.Duration // time before the measurement
	Window     time.Duration
}

// results are the acquisitions and waits of one worker's goroutines.
type results struct {
	Got      []int64 // acquisitions of each goroutine within the window
	Waits    *hdrhistogram.Snapshot
	Longest  time.Duration
	Elapsed  time.Duration
	Overlaps int64 // number of times that more goroutines of this process held a name together than may
	Failed   int64
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
func runJob(text string, in io.Reader, out io.Writer) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	c, err := peers.FindContender(j.Contestant)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := ready(
		ctx,
		c,
		j.URLs,
		peers.Options{TTL: j.TTL, Pool: j.Goroutines + 2, Waits: true},
		&progress{w: io.Discard},
	); err != nil {
		return err
	}
	first, err := c.Pairer.(load.Acquirer).Acquire(ctx, fmt.Sprintf("%s:%d", j.Name, os.Getpid())) // warms up
	if err != nil {
		return errors.Join(err, c.Close())
	}
	if err := first.Unlock(ctx); err != nil {
		return errors.Join(err, c.Close())
	}
	fmt.Fprintln(out, readyLine)
	if _, err := bufio.NewReader(in).ReadString('\n'); err != nil {
		return errors.Join(fmt.Errorf("the parent is gone: %w", err), c.Close())
	}
	h := j.contend(ctx, c.Pairer.(load.Acquirer))
	return errors.Join(json.NewEncoder(out).Encode(h), c.Close())
}

const contendDrain = 5 * time.Second // for the last unlocks

// contend has every goroutine acquire and release the name until the window is over. A wait that the end of the window
// interrupts counts with its duration so far, because a goroutine that got nothing must show in the results.
func (j job) contend(ctx context.Context, t load.Acquirer) results {
	begin := time.Now().Add(j.Ramp)
	end := begin.Add(j.Window)
	waiting, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	unlocking, cancelUnlocks := context.WithDeadline(ctx, end.Add(contendDrain))
	defer cancelUnlocks()
	h := results{Got: make([]int64, j.Goroutines)}
	all := load.NewHistogram()
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
			own := load.NewHistogram()
			var longest time.Duration
			var failed int64
			var failure error
			note := func(asked, now time.Time) {
				if now.Before(begin) {
					return
				}
				wait := now.Sub(asked)
				load.Record(own, wait)
				longest = max(longest, wait)
			}
			for asked := time.Now(); ; {
				g, err := t.Acquire(waiting, name)
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
					err = g.Unlock(unlocking)
					if now.After(begin) && now.Before(end) {
						note(asked, now)
						h.Got[i]++
					}
				} else if waiting.Err() != nil {
					note(asked, end)
					break
				}
				if err != nil {
					failed++
					failure = err
					_ = load.Sleep(waiting, time.Millisecond) // so that failures cause no busy loop
				}
				if asked = time.Now(); !asked.Before(end) {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all.Merge(own)
			h.Longest = max(h.Longest, longest)
			h.Failed += failed
			if failure != nil {
				h.Failure = failure.Error()
			}
		})
	}
	everybody.Wait()
	h.Waits, h.Elapsed, h.Overlaps = all.Export(), j.Window, overlaps.Load()
	return h
}
