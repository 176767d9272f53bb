// Command day is a day in the life of a deployment. It starts five masters with TLS and an ACL, a program with metrics,
// and a Prometheus with the rules of contrib/prometheus. Then it breaks one thing after the other, and shows what
// reports it, and how soon: package doctor, the program's log, its metrics, or an alert.
//
//	go run ./examples/day
//
// It needs redis-server, gcc and prometheus, and takes about six minutes. docs/masters.md has the results.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	look := flag.Duration("look", 45*time.Second, "how long to look at each incident, at least")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if _, err := run(ctx, os.Stdout, *look); err != nil {
		fmt.Fprintln(os.Stderr, "day:", err)
		os.Exit(1)
	}
}

// run plays the day, and returns what reported each incident.
func run(ctx context.Context, out io.Writer, look time.Duration) (all []account, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := os.MkdirTemp("", "day-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	d, err := start(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := d.stop(); err == nil {
			err = e
		}
	}()
	fmt.Fprintln(out, "five masters with TLS and an ACL, a program that locks, a Prometheus that scrapes it each", scrape)

	report, err := d.doctor(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(out, "doctor:")
	for _, f := range report.Findings {
		fmt.Fprintf(out, "  %s: %s: %s\n", f.Severity, strings.Join(f.Nodes, ", "), f.Title)
		if f.Title != "shares a host" {
			return nil, fmt.Errorf("these masters should not have it: %s", f.Why)
		}
	}
	fmt.Fprintln(out)
	for i, in := range incidents {
		a, err := d.play(ctx, in, d.masters[i%len(d.masters)], report, look)
		if err != nil {
			return all, fmt.Errorf("%s: %w", in.what, err)
		}
		all = append(all, a)
		fmt.Fprintln(out, a)
	}
	if err := d.program.held.Err(); err != nil {
		return all, fmt.Errorf("the lock that was held all day: %w", err)
	}
	locks := d.program.locker.Stats().Kinds[0] // mutexes
	if locks.Lost > 0 {
		return all, fmt.Errorf("%d locks were lost, although only one master at a time was broken", locks.Lost)
	}
	fired, err := d.monitor.fired(ctx)
	if err != nil {
		return all, err
	}
	if slices.Sort(fired); !slices.Equal(fired, []string{"RedlockMasterDown", "RedlockMasterRefuses"}) {
		return all, fmt.Errorf("alerts that fired: %v", fired)
	}
	fmt.Fprintf(out, "one lock was held all day; %d others were acquired, %d attempts failed, no lock was lost\n",
		locks.Acquired-1, locks.Refused+locks.TimedOut+locks.Failed)
	return all, nil
}
