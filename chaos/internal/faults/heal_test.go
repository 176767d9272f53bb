package faults_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/aof"
	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/internal/need"
)

// Whatever a run is interrupted in, the nemesis leaves masters that serve.
func TestEveryFaultIsHealedWhenTheRunIsInterrupted(t *testing.T) {
	t.Parallel()
	var healed sync.Map // the faults that are available on one of the sites
	t.Run("on", func(t *testing.T) {
		for _, c := range []struct {
			backend string
			loses   aof.Loss
		}{
			{backend.Processes, aof.Everything},
			{backend.Processes, aof.Nothing},
			{backend.Processes, aof.Tail},
			{backend.Containers, aof.Tail},
		} {
			t.Run(c.backend+" "+string(c.loses), func(t *testing.T) {
				t.Parallel()
				s := open(t, c.backend, options{Masters: 3, loses: c.loses})
				for _, f := range s.nemesis.Faults {
					if f.Available == nil {
						s.interrupt(f.Traits, 1) // while it is being injected
						s.interrupt(f.Traits, 2) // while it lasts
						healed.Store(f.Name, true)
					}
				}
			})
		}
	})
	for _, name := range faults.Named(faults.Catalog(), func(f faults.Traits) bool { return f.On == faults.Masters }) {
		if _, ok := healed.Load(name); !ok && !t.Failed() {
			need.SkipIf(t, need.Docker, fmt.Errorf("no site has the fault %s", name))
		}
	}
}

// interrupt ends a run in which two masters have the fault when it has begun as many steps.
func (s *site) interrupt(f faults.Traits, begun int) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	step := faults.Step{At: 1, For: time.Hour, Fault: f.Name, On: f.On, Targets: []int{0, 1}}
	if f.Instant {
		step.For = 0
	}
	other := faults.Step{At: 2, For: time.Hour, Fault: faults.PauseMaster, On: faults.Masters, Targets: []int{2}}
	s.nemesis.Say = func(string, ...any) {
		if begun--; begun == 0 {
			cancel()
		}
	}
	over := make(chan error, 1)
	go func() { over <- s.nemesis.Run(ctx, []faults.Step{step, other}) }()
	select {
	case err := <-over:
		require.ErrorIs(s.t, err, context.Canceled, f.Name)
	case <-time.After(2 * soon):
		s.t.Fatalf("%s is not healed", f.Name)
	}
	require.NoError(s.t, s.inspector.PingAll(s.t.Context()), f.Name)
	for m := range s.masters.Masters() {
		require.NoError(s.t, s.nemesis.Healthy(s.t.Context(), faults.Masters, m), f.Name)
	}
	c := s.client()
	require.NoError(s.t, c.Set(s.t.Context(), f.Name, "1", time.Hour).Err(), f.Name)
	assert.Contains(s.t, s.keys(), f.Name)
	require.NoError(s.t, c.FlushAll(s.t.Context()).Err())
}
