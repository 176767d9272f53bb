package controls

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
)

// real is a control that is tried on real masters, in a short run of the scenario of that name.
type real string

func (real) set() int { return masters }

func (r real) try(ctx context.Context, o scenarios.Options, c Control) (Result, error) {
	found, err := scenarios.Find(string(r))
	if err != nil {
		return Result{}, err
	}
	s, run := found[0], o
	s.Lock, s.Storm = c.Lock, scenarios.LeastStorm
	run.Backend, run.Say = backend.Processes, func(string, ...any) {}
	run.Dir = filepath.Join(o.Dir, strings.ReplaceAll(c.Lock, " ", "-"))
	if err := os.MkdirAll(run.Dir, 0o755); err != nil {
		return Result{}, err
	}
	out, err := scenarios.Play(ctx, s, run)
	if err == nil {
		err = out.Failed()
	}
	if err != nil {
		return Result{}, fmt.Errorf("the control %s did not run properly, see %s: %w", c.Lock, run.Dir, err)
	}
	return c.of(out.Verdict(c.Checker), "folder: "+run.Dir), nil
}
