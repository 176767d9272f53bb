package gooselock_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver

	"github.com/redlock-go/redlock"
	gooselock "github.com/redlock-go/redlock/contrib/goose"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/redlocktest"
)

// machine is a program that migrates the database at its start.
func machine(t *testing.T, file string, masters []*redlocktest.Master, up func(context.Context) error) *goose.Provider {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	locker, err := redlock.Open(
		redlocktest.URLs(masters), redlock.WithNodeTimeout(5*time.Second), redlock.WithTTL(time.Minute),
	)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, locker.Close()) })
	p, err := goose.NewProvider(goose.DialectSQLite3, db, nil,
		goose.WithSessionLocker(gooselock.New(locker, "migrate:orders")),
		goose.WithDisableGlobalRegistry(true),
		goose.WithGoMigrations(goose.NewGoMigration(1,
			&goose.GoFunc{RunDB: func(ctx context.Context, _ *sql.DB) error { return up(ctx) }}, nil)))
	require.NoError(t, err)
	return p
}

func TestOneMachineMigrates(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	file := filepath.Join(t.TempDir(), "orders.db")
	var applied, results atomic.Int32
	var machines sync.WaitGroup
	for range 4 {
		p := machine(t, file, masters, func(context.Context) error {
			applied.Add(1)
			time.Sleep(100 * time.Millisecond)
			return nil
		})
		machines.Go(func() {
			r, err := p.Up(t.Context())
			assert.NoError(t, err)
			results.Add(int32(len(r)))
		})
	}
	machines.Wait()
	assert.EqualValues(t, 1, applied.Load())
	assert.EqualValues(t, 1, results.Load(), "the others found nothing to do")
}

func TestALossUnderAMigrationIsAnError(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	p := machine(t, filepath.Join(t.TempDir(), "orders.db"), masters, func(context.Context) error {
		for _, m := range masters {
			m.Hold("migrate:orders", time.Minute)
		}
		return nil
	})
	_, err := p.Up(t.Context())
	require.ErrorIs(t, err, redlock.ErrLost)
}

// Each connection has a lock of its own, session after session, however the last one ended.
func TestSessionsArePaired(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		masters := redlocktest.StartVirtual(t, 3)
		locker, err := redlock.Open(redlocktest.URLs(masters))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, locker.Close()) })
		s := gooselock.New(locker, "migrate:orders", redlock.WithTTL(3*time.Second), redlock.WithFencing())
		other := gooselock.New(locker, "migrate:users")
		conn, second, unused := new(sql.Conn), new(sql.Conn), new(sql.Conn)
		require.ErrorIs(t, s.SessionUnlock(t.Context(), unused), redlock.ErrReleased)
		released := func(conn *sql.Conn) {
			err := s.SessionUnlock(t.Context(), conn)
			require.ErrorIs(t, err, redlock.ErrReleased)
			require.ErrorContains(t, err, `"migrate:orders"`)
		}
		for range 2 {
			require.NoError(t, s.SessionLock(t.Context(), conn))
			err := s.SessionLock(t.Context(), conn)
			require.ErrorContains(t, err, `"migrate:orders": this connection has locked already`)
			h, err := locker.Inspect(t.Context(), "migrate:orders")
			require.NoError(t, err)
			require.NotZero(t, h.Fence, "the options are used")
			require.LessOrEqual(t, h.Holders[0].Left, 3*time.Second)
			require.NoError(t, other.SessionLock(t.Context(), second), "another name, and another connection")

			canceled, cancel := context.WithTimeout(t.Context(), time.Second)
			err = s.SessionLock(canceled, second)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, redlock.ErrHeld)
			cancel()
			released(second) // it has not locked
			locked := make(chan error, 1)
			go func() { locked <- s.SessionLock(t.Context(), second) }()
			synctest.Wait()
			require.NoError(t, s.SessionUnlock(t.Context(), conn))
			require.NoError(t, <-locked, "it waited")
			released(conn)
			require.NoError(t, s.SessionUnlock(t.Context(), second))
			released(second)
			require.NoError(t, other.SessionUnlock(t.Context(), second))
		}
		// After an Unlock that failed, and after a loss, the connection may lock again.
		for range 2 {
			require.NoError(t, s.SessionLock(t.Context(), conn))
			masters[0].Freeze()
			masters[1].Freeze()
			require.ErrorIs(t, s.SessionUnlock(t.Context(), conn), redlock.ErrNoQuorum)
			released(conn)
			masters[0].Thaw()
			masters[1].Thaw()
			require.NoError(t, s.SessionLock(t.Context(), conn))
			for _, m := range masters {
				m.Wipe()
			}
			time.Sleep(4 * time.Second) // the next extension finds it, and then the lock expires
			require.NoError(t, s.SessionLock(t.Context(), second))
			require.ErrorIs(t, s.SessionUnlock(t.Context(), conn), redlock.ErrLost)
			released(conn)
			require.NoError(t, s.SessionUnlock(t.Context(), second))
		}
	})
}

func TestMain(m *testing.M) { testmain.Run(m) }
