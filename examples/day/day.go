package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/internal/wallclock"
)

// day is everything that runs.
type day struct {
	lib     string // the library of wallclock
	command string // redlock
	env     []string
	masters []*master
	program *program
	monitor *monitor
}

// start starts everything, and returns when all masters may vote. Files are in dir.
func start(ctx context.Context, dir string) (_ *day, err error) {
	d := &day{lib: filepath.Join(dir, "wallclock.so"), command: filepath.Join(dir, "redlock"), masters: make([]*master, 5)}
	defer func() {
		if err != nil {
			_ = d.stop()
		}
	}()
	if err := wallclock.Build(ctx, d.lib); err != nil {
		return nil, err
	}
	root, err := output(exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/redlock-go/redlock"))
	if err != nil {
		return nil, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", d.command, "github.com/redlock-go/redlock/cmd/redlock")
	if _, err := output(build); err != nil {
		return nil, err
	}
	p := newPKI(dir)
	var g errgroup.Group
	for i := range d.masters {
		g.Go(func() (err error) {
			d.masters[i], err = startMaster(ctx, d.lib, p)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var urls []string
	for _, m := range d.masters {
		urls = append(urls, m.url("doctor"))
	}
	file := filepath.Join(dir, "masters")
	if err := os.WriteFile(file, []byte(strings.Join(urls, "\n")), 0o600); err != nil {
		return nil, err
	}
	d.env = append(
		os.Environ(), "REDLOCK_MASTERS_FILE="+file,
		"REDLOCK_TLS_CA="+p.ca, "REDLOCK_TLS_CERT="+p.cert, "REDLOCK_TLS_KEY="+p.key,
	)
	if d.program, err = startProgram(ctx, d.masters, p); err != nil {
		return nil, err
	}
	d.monitor, err = startMonitor(ctx, dir, filepath.Join(root, "contrib", "prometheus", "rules.yml"), d.program.addr)
	if err != nil {
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

// examination is what redlock doctor --json prints.
type examination struct {
	Findings []finding
}

type finding struct {
	Severity, Title, Why string
	Nodes                []string
}

// doctor runs redlock doctor.
func (d *day) doctor(ctx context.Context) (found examination, took time.Duration, err error) {
	began := time.Now()
	cmd := exec.CommandContext(ctx, d.command, "doctor", "--json")
	cmd.Env = d.env
	text, err := output(cmd)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) { // the status says how bad it is
		return found, 0, err
	}
	if e := json.Unmarshal([]byte(text), &found); e != nil {
		return found, 0, errors.Join(err, e)
	}
	return found, time.Since(began), nil
}

// output returns what a program prints. The error has what it prints on its standard error.
func output(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), err
}
