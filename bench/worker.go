package main

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
)

// workerVariable holds the job of a process that bench starts to contend for a name.
const workerVariable = "REDLOCK_BENCH_JOB"

// A job is what a worker does.
type job struct {
	Contestant string
	URLs       []string
	TTL        time.Duration
	Name       string
	Goroutines int
	Ramp       time.Duration // before anything counts
	Window     time.Duration
}

// A haul is what a worker's goroutines got.
type haul struct {
	Got      []int64 // acquisitions of each goroutine, in the window
	Waits    *hdrhistogram.Snapshot
	Longest  time.Duration
	Elapsed  time.Duration
	Overlaps int64 // moments at which two goroutines of this process held the name
	Failed   int64
	Failure  string
}

// The lines by which a worker and its parent keep step.
const saysReady = "ready"

// worked reports whether this process is a worker, and has done its job.
func worked() bool {
	text := os.Getenv(workerVariable)
	if text == "" {
		return false
	}
	if err := serve(text, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench worker:", err)
		os.Exit(exitFailed)
	}
	return true
}

// serve says when it is ready, begins at a line on in, and writes what it got.
func serve(text string, in io.Reader, out io.Writer) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	c, err := contender(j.Contestant)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := ready(ctx, c, j.URLs, openOptions{ttl: j.TTL, pool: j.Goroutines + 2, waits: true}, &progress{w: io.Discard}); err != nil {
		return err
	}
	first, err := c.pairer.(taker).Take(ctx, fmt.Sprintf("%s:%d", j.Name, os.Getpid())) // connections, scripts
	if err != nil {
		return errors.Join(err, c.Close())
	}
	if err := first.Unlock(ctx); err != nil {
		return errors.Join(err, c.Close())
	}
	fmt.Fprintln(out, saysReady)
	if _, err := bufio.NewReader(in).ReadString('\n'); err != nil {
		return errors.Join(fmt.Errorf("the parent is gone: %w", err), c.Close())
	}
	h := j.contend(ctx, c.pairer.(taker))
	return errors.Join(json.NewEncoder(out).Encode(h), c.Close())
}

const contendDrain = 5 * time.Second // for the last unlocks

// contend has every goroutine take and release the name until the window is over. A wait that the end cuts short counts
// with what it had lasted: who got nothing must not go unnoticed.
func (j job) contend(ctx context.Context, t taker) haul {
	begin := time.Now().Add(j.Ramp)
	end := begin.Add(j.Window)
	waiting, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	unlocking, cancelUnlocks := context.WithDeadline(ctx, end.Add(contendDrain))
	defer cancelUnlocks()
	h := haul{Got: make([]int64, j.Goroutines)}
	all := histogram()
	var mu sync.Mutex
	var inside, overlaps atomic.Int64
	var everybody sync.WaitGroup
	for i := range j.Goroutines {
		everybody.Go(func() {
			own := histogram()
			var longest time.Duration
			var failed int64
			var failure error
			note := func(asked, now time.Time) {
				if now.Before(begin) {
					return
				}
				wait := now.Sub(asked)
				put(own, wait)
				longest = max(longest, wait)
			}
			for asked := time.Now(); ; {
				g, err := t.Take(waiting, j.Name)
				now := time.Now()
				if err == nil {
					if inside.Add(1) > 1 {
						overlaps.Add(1)
					}
					runtime.Gosched() // whoever else is let in comes in now
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
					_ = pause(waiting, time.Millisecond) // a failure must not become a busy loop
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
