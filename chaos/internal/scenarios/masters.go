package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/faults"
)

// masters are the masters of a run.
type masters interface {
	// Masters returns their number, and URLs their URLs for clients.
	Masters() int
	URLs() []string
	// Prefix returns the beginning of all names that the run locks.
	Prefix() string
	// NewInspector returns an inspector that sees what belongs to the run.
	NewInspector() (backend.Inspector, error)
	// Notes returns remarks on the masters for the report.
	Notes() []string
	Close() error
}

// ours are masters that the run has started itself. It may harm them, and has their logs.
type ours struct{ *backend.Backend }

var (
	_ masters              = ours{}
	_ faults.MasterControl = ours{}
	_ masters              = (*backend.GivenMasters)(nil)
)

func (ours) Prefix() string  { return "storm:" }
func (ours) Notes() []string { return nil }

// check returns an error if the run cannot have masters.
func (o Options) check() error {
	switch {
	case o.Backend != backend.Given:
		return backend.Check(o.Backend)
	case len(o.Masters) == 0:
		return errors.New("no masters are given: say where they are, as in redis://host:6379")
	default:
		return nil
	}
}

// open returns the masters of a run. They are up.
func (o Options) open(ctx context.Context, s Scenario) (masters, error) {
	if o.Backend == backend.Given {
		mark := fmt.Sprintf("%s%s-%d", backend.PrefixBegin, time.Now().UTC().Format("20060102T150405.000"), os.Getpid())
		o.Say("looking at %d masters; whatever this run leaves there has %q in its name", len(o.Masters), mark)
		return backend.Take(ctx, o.Masters, mark)
	}
	o.Say("starting %d masters (%s)", Masters, o.Backend)
	b, err := backend.Open(ctx, o.Backend, backend.Options{Masters: Masters, Persistence: s.Persistence})
	if err != nil {
		return nil, err
	}
	return ours{b}, nil
}

// onMasters returns the faults that may be injected into these masters.
func onMasters(m masters) []faults.Fault {
	if control, ok := m.(faults.MasterControl); ok {
		return faults.OnMasters(control)
	}
	return nil
}

// saveLogs saves the logs of the masters if they are available.
func saveLogs(ctx context.Context, o Options, m masters) {
	started, ok := m.(ours)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for i := range m.Masters() {
		text, err := started.Log(ctx, i)
		if err != nil {
			text += "\n(the log could not be read: " + err.Error() + ")\n"
		}
		path := filepath.Join(o.Dir, "logs", fmt.Sprintf("master-%d.log", i))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			o.Say("the log of master %d is not kept: %v", i, err)
		}
	}
}
