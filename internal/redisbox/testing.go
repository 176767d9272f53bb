package redisbox

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/need"
	"github.com/redlock-go/redlock/internal/redisbox/redisimage"
)

const (
	setUpTimeout = time.Minute
	imageTimeout = 3 * time.Minute // make image gets it beforehand, however long it takes
)

// usable returns an error that says what is missing if masters cannot be started. It looks for the image only once.
var usable = sync.OnceValue(func() error {
	ctx, cancel := context.WithTimeout(context.Background(), imageTimeout)
	defer cancel()
	_, err := redisimage.Name(ctx, io.Discard)
	return err
})

// Need skips the test if Docker is not reachable, or has no Redis image and cannot get one. Where [need.Docker] forbids
// skips, it fails the test instead.
func Need(t testing.TB) {
	t.Helper()
	need.SkipIf(t, need.Docker, usable())
}

// NeedBlackHole is [Need] for a test of [Master.BlackHole].
func NeedBlackHole(t testing.TB) {
	t.Helper()
	need.SkipIf(t, need.Docker, CanBlackHole())
}

// A Fleet is a set of masters that the tests of one package share, one test at a time. Its zero value with Size set is
// ready; TestMain closes it.
type Fleet struct {
	// Size is the number of masters.
	Size int
	// Window is the restart window of the Lockers that use the masters. A test gets masters that may vote.
	Window time.Duration

	once    sync.Once
	masters []*Master
	err     error
}

// Masters returns the masters, healthy and empty, whatever an earlier test did to them. The first call starts them. It
// skips or fails as [Need] does.
func (f *Fleet) Masters(t testing.TB) []*Master {
	t.Helper()
	Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), setUpTimeout+f.Window)
	defer cancel()
	f.once.Do(func() { f.masters, f.err = Start(ctx, f.Size, Options{}) })
	require.NoError(t, f.err, "start %d masters", f.Size)
	require.NoError(t, each(f.masters, func(m *Master) error { return m.Restore(ctx) }))
	require.NoError(t, WaitUptime(ctx, f.Window, f.masters...))
	require.NoError(t, each(f.masters, func(m *Master) error { return m.Wipe(ctx) }))
	t.Cleanup(func() { showLogs(t, f.masters) })
	return f.masters
}

// Close removes the masters, if they were started.
func (f *Fleet) Close() error { return CloseAll(f.masters) }

func showLogs(t testing.TB, masters []*Master) {
	if !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	for _, m := range masters {
		text, err := m.Logs(ctx)
		t.Logf("log of master %s (%v):\n%s", m, err, text)
	}
}
