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

// onMasters tries the control on real masters, in a short run of its scenario.
func (c Control) onMasters(ctx context.Context, o scenarios.Options) (Result, error) {
	found, err := scenarios.Find(c.In)
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
