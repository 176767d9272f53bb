package faults_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/aof"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// world is masters that remember what was done to them, and for how long they were out.
type world struct {
	faults.MasterControl // the rest of it is not used here

	mu     sync.Mutex
	begin  time.Time
	down   map[int]bool
	most   int
	log    []string
	slow   time.Duration // what every operation takes
	events []history.Event
}

func newWorld() *world { return &world{begin: time.Now(), down: map[int]bool{}} }

func (w *world) set(what string, down bool) func(context.Context, int) error {
	return func(_ context.Context, m int) error {
		time.Sleep(w.slow)
		w.mu.Lock()
		defer w.mu.Unlock()
		if down == w.down[m] {
			return fmt.Errorf("%s %d: it is that already", what, m)
		}
		w.down[m] = down
		n := 0
		for _, d := range w.down {
			if d {
				n++
			}
		}
		w.most = max(w.most, n)
		w.log = append(w.log, fmt.Sprintf("%v %s %d", time.Since(w.begin), what, m))
		return nil
	}
}

func (w *world) Kill(ctx context.Context, m int) error   { return w.set("kill", true)(ctx, m) }
func (w *world) Start(ctx context.Context, m int) error  { return w.set("start", false)(ctx, m) }
func (w *world) Freeze(ctx context.Context, m int) error { return w.set("freeze", true)(ctx, m) }
func (w *world) Thaw(ctx context.Context, m int) error   { return w.set("thaw", false)(ctx, m) }

func (w *world) Masters() int                              { return 5 }
func (w *world) CanLose(loss aof.Loss) error               { return nil }
func (w *world) CanPackets() error                         { return nil }
func (w *world) CanMoveClocks() error                      { return nil }
func (w *world) Lose(context.Context, int, aof.Loss) error { return nil }

func (w *world) healthy(_ context.Context, _ faults.Side, m int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down[m] {
		return errors.New("no answer")
	}
	return nil
}

func (w *world) nemesis() *faults.Nemesis {
	return &faults.Nemesis{
		Faults: faults.Of(w, nil), Healthy: w.healthy, HealthTimeout: time.Second,
		Log: func(e history.Event) { w.events = append(w.events, e) },
		Say: func(string, ...any) {},
	}
}

func kill(at, length time.Duration, targets ...int) faults.Step {
	return faults.Step{At: at, For: length, Fault: faults.KillMaster, On: faults.Masters, Targets: targets}
}

func TestTheNemesisFollowsItsPlan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		pause := faults.Step{
			At: 2 * time.Second, For: time.Second, Fault: faults.PauseMaster, On: faults.Masters, Targets: []int{1},
		}
		require.NoError(t, w.nemesis().Run(t.Context(), []faults.Step{kill(time.Second, 3*time.Second, 0), pause}))
		assert.Equal(t, []string{"1s kill 0", "2s freeze 1", "3s thaw 1", "4s start 0"}, w.log)
		var kinds []history.Kind
		for _, e := range w.events {
			kinds = append(kinds, e.Kind)
		}
		assert.Equal(t, []history.Kind{
			history.Inject, history.Inject, history.Heal, history.Healthy, history.Heal, history.Healthy,
		}, kinds)
	})
}

func TestASlowMachineNeverHasMoreMastersDownThanPlanned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.slow = 700 * time.Millisecond
		steps := []faults.Step{
			kill(time.Second, time.Second, 0, 1), kill(2100*time.Millisecond, time.Second, 2, 3),
			kill(3200*time.Millisecond, time.Second, 0, 4),
		}
		require.NoError(t, w.nemesis().Run(t.Context(), steps))
		assert.Equal(t, 2, w.most)
		assert.Equal(t, 4200*time.Millisecond+6*w.slow, time.Since(w.begin), "later steps move if earlier ones are late")
	})
}

func TestWhatEndsARunEarly(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault string
		sick  time.Duration // from when on the target is
		says  string
		log   []string
	}{
		"a sick target": {faults.KillMaster, 0, "masters 2 does not work", nil},
		"a target that stays sick after its heal": {
			faults.KillMaster, 1500 * time.Millisecond, "does not work 1s after it was healed",
			[]string{"1s kill 2", "2s start 2"},
		},
		"an unknown fault": {"flood", time.Hour, `no fault is called "flood"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				n := w.nemesis()
				n.Healthy = func(context.Context, faults.Side, int) error {
					if time.Since(w.begin) >= tt.sick {
						return errors.New("no answer")
					}
					return nil
				}
				step := kill(time.Second, time.Second, 2)
				step.Fault = tt.fault
				require.ErrorContains(t, n.Run(t.Context(), []faults.Step{step}), tt.says)
				assert.Equal(t, tt.log, w.log)
			})
		})
	}
}
