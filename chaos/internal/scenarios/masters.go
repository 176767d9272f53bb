package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/environment"
	"github.com/redlock-go/redlock/chaos/internal/faults"
)

// masters are the masters of a run.
type masters interface {
	environment.Masters
	// URLs returns their URLs for clients.
	URLs() []string
	// Prefix returns the beginning of all names that the run locks.
	Prefix() string
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
