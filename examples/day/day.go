package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/doctor"
	"github.com/redlock-go/redlock/internal/wallclock"
)

// day is everything that runs.
type day struct {
	lib     string // the library of wallclock
	pki     *pki
	masters []*master
	program *program
	monitor *monitor
}

// start starts everything, and returns when all masters may vote. Files are in dir.
func start(ctx context.Context, dir string) (_ *day, err error) {
	d := &day{lib: filepath.Join(dir, "wallclock.so"), pki: newPKI(dir), masters: make([]*master, 5)}
	defer func() {
		if err != nil {
			_ = d.stop()
		}
	}()
	if err := wallclock.Build(ctx, d.lib); err != nil {
		return nil, err
	}
	var g errgroup.Group
	for i := range d.masters {
		g.Go(func() (err error) {
			d.masters[i], err = startMaster(ctx, d.lib, d.pki)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if d.program, err = startProgram(ctx, d.masters, d.pki); err != nil {
		return nil, err
	}
	if d.monitor, err = startMonitor(ctx, dir, d.program.metrics.Listener.Addr().String()); err != nil {
		return nil, err
	}
	for _, m := range d.masters {
		if err := d.quiet(ctx, m); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *day) stop() error {
	if d.monitor != nil {
		d.monitor.stop()
	}
	if d.program != nil {
		d.program.stop()
	}
	var all []error
	for _, m := range d.masters {
		if m != nil {
			all = append(all, m.stop())
		}
	}
	return errors.Join(all...)
}

// quiet waits until Prometheus has seen that the master votes, and no alert about it fires.
func (d *day) quiet(ctx context.Context, m *master) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		found, err := d.monitor.query(ctx, fmt.Sprintf(`redlock_node_state{node=%q,state="voting"} == 1`, m.name()))
		firing, err2 := d.monitor.firing(ctx, m.name())
		if err == nil && err2 == nil && len(found) > 0 && len(firing) == 0 {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return fmt.Errorf("%s does not vote again, or an alert still fires: %v", m.name(), firing)
		}
	}
}

// doctor examines the masters, as redlock doctor does.
func (d *day) doctor(ctx context.Context) (doctor.Report, error) {
	locker, err := redlock.Open(urls(d.masters, "doctor"), redlock.WithTLSConfig(d.pki.config))
	if err != nil {
		return doctor.Report{}, err
	}
	defer locker.Close()
	return doctor.Examine(ctx, locker)
}
