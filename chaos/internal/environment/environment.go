// Package environment opens what a run on real masters needs besides them: the harness's own history, the registers,
// the client processes, and a nemesis for all of them.
package environment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/clients"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/register"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// Masters are the masters of a run. The run may harm those that are a [faults.MasterControl], and keeps the logs of
// those that have some.
type Masters interface {
	// Masters returns the number of masters.
	Masters() int
	// NewInspector returns an inspector that sees what belongs to the run.
	NewInspector() (backend.Inspector, error)
}

type logs interface {
	Log(ctx context.Context, master int) (string, error)
}

// Settings of an environment.
type Settings struct {
	// Dir is the folder of the histories, Logs that of the logs of clients and masters. Both are made.
	Dir, Logs string
	Masters   Masters
	// Runner starts the clients. Clients is their number.
	Runner  clients.Runner
	Clients int
	// Groups is the traffic.
	Groups []traffic.Group
	// Configure returns the configuration of a client's next life. The environment sets Groups and Registers, and the
	// fleet what identifies the life.
	Configure func(client int) traffic.Config
	// Say reports progress to a person, Announce each step of the nemesis. A nil Announce reports none.
	Say, Announce func(format string, args ...any)
}

// An Environment is what is open. The caller must close it.
type Environment struct {
	Log       *history.Writer
	Fleet     *clients.Fleet
	Inspector backend.Inspector
	Nemesis   *faults.Nemesis

	settings  Settings
	registers []*register.Register
}

const (
	// healthTimeout is how long a master or a client may take to work again when it was healed.
	healthTimeout = 15 * time.Second
	// logTimeout bounds the reading of all logs.
	logTimeout = 10 * time.Second
)

// Open opens an environment. No client runs yet.
func Open(s Settings) (_ *Environment, err error) {
	if err := errors.Join(os.MkdirAll(s.Dir, 0o755), os.MkdirAll(s.Logs, 0o755)); err != nil {
		return nil, err
	}
	e := &Environment{settings: s}
	if e.Log, err = history.Create(filepath.Join(s.Dir, "harness.jsonl"), history.NewClock()); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.closeAll())
		}
	}()
	if e.Inspector, err = s.Masters.NewInspector(); err != nil {
		return nil, err
	}
	addresses := map[string]string{}
	for _, g := range s.Groups {
		if g.Register == "" || addresses[g.Register] != "" {
			continue
		}
		r, err := register.Start(g.Register, filepath.Join(s.Dir, "register-"+g.Register+".jsonl"))
		if err != nil {
			return nil, err
		}
		e.registers = append(e.registers, r)
		addresses[g.Register] = r.Addr()
	}
	e.Fleet = &clients.Fleet{
		Runner: s.Runner, Size: s.Clients, Dir: s.Dir, Logs: s.Logs, Log: e.Log.Write,
		Configure: func(client int) traffic.Config {
			c := s.Configure(client)
			c.Groups, c.Registers = s.Groups, addresses
			return c
		},
	}
	e.Nemesis = e.nemesis()
	return e, nil
}

func (e *Environment) nemesis() *faults.Nemesis {
	n := &faults.Nemesis{
		Faults: faults.OnClients(e.Fleet), Healthy: e.healthy, HealthTimeout: healthTimeout, Log: e.Log.Write,
		Say: e.settings.Announce,
	}
	if n.Say == nil {
		n.Say = func(string, ...any) {}
	}
	if control, ok := e.settings.Masters.(faults.MasterControl); ok {
		n.Faults = slices.Concat(faults.OnMasters(control), n.Faults)
	}
	return n
}

func (e *Environment) healthy(ctx context.Context, on faults.Side, target int) error {
	if on == faults.Clients {
		return e.Fleet.Healthy(target)
	}
	return e.Inspector.Ping(ctx, target)
}

// Now returns the time on the clock of the history.
func (e *Environment) Now() time.Duration { return e.Log.Clock().Now() }

// Phase begins a phase of the run, and returns its time.
func (e *Environment) Phase(name string) time.Duration {
	now := e.Now()
	e.Log.Write(history.Event{T: now, Kind: history.Phase, Phase: name})
	return now
}

// Broken writes to the history that the harness itself failed, unless err is nil.
func (e *Environment) Broken(err error) {
	if err != nil {
		e.Log.Write(history.Event{Kind: history.Broken, Err: err.Error()})
	}
}

// Close ends the clients and the registers, and saves the logs of the masters. Failures of clients and registers are
// written to the history. A log that cannot be saved is only reported.
func (e *Environment) Close(ctx context.Context) error {
	e.Broken(e.Fleet.Close())
	e.saveLogs(ctx)
	return e.closeAll()
}

func (e *Environment) closeAll() error {
	var errs []error
	for _, r := range e.registers {
		errs = append(errs, r.Close())
	}
	e.Broken(errors.Join(errs...))
	return errors.Join(e.Inspector.Close(), e.Log.Close())
}

func (e *Environment) saveLogs(ctx context.Context) {
	masters, ok := e.settings.Masters.(logs)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logTimeout)
	defer cancel()
	for i := range e.settings.Masters.Masters() {
		text, err := masters.Log(ctx, i)
		if err != nil {
			text += "\n(the log could not be read: " + err.Error() + ")\n"
		}
		path := filepath.Join(e.settings.Logs, fmt.Sprintf("master-%d.log", i))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			e.settings.Say("the log of master %d is not kept: %v", i, err)
		}
	}
}
