package stacktest_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

const secretPassword, secretLabel = "s3cretword", "s3cretlabel"

func assertNoSecret(t *testing.T, shown ...any) {
	t.Helper()
	for _, s := range shown {
		for _, secret := range []string{secretPassword, secretLabel} {
			assert.NotContains(t, fmt.Sprint(s), secret)
		}
	}
}

// What a Locker shows of its masters is their addresses: in errors, in the rows of Nodes, in traces and in the log.
func TestALockerShowsNeitherUserNorQueryOfItsMasters(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		var urls []string
		for _, m := range w.Masters() {
			m.RequirePassword(secretPassword)
			urls = append(urls, "redis://:"+secretPassword+"@"+m.Addr()+"/0?client_name="+secretLabel)
		}
		var mu sync.Mutex
		var traced []any
		var log logbook
		trace := hooked(func(_ string, event any) {
			mu.Lock()
			defer mu.Unlock()
			traced = append(traced, event)
		})
		l := w.over(t, "a", w.nodes(t, "a", urls...), redlock.WithLogger(log.logger()), redlock.WithTrace(trace))
		held := lock(t, l, "held")
		for name, fault := range map[string]func(){
			"another password": func() {
				each(w.Masters(), func(m *simnet.Master) { m.RequirePassword("another"); m.Reset() })
			},
			"frozen": func() {
				each(w.Masters(), (*simnet.Master).Freeze)
			},
			"gone": func() {
				each(w.Masters(), (*simnet.Master).Crash)
			},
		} {
			fault()
			for range 20 { // as it is noticed, and after
				_, err := l.TryLock(t.Context(), "x")
				require.Error(t, err, name)
				found := redlock.NodeErrors(err)
				require.NotEmpty(t, found, name)
				assertNoSecret(t, err)
				for _, failed := range found {
					assert.Contains(t, w.URLs(), "redis://"+failed.Node)
					assertNoSecret(t, failed.Node, failed.Err, failed)
				}
				assertNoSecret(t, held.Extend(t.Context()))
				rows, err := l.Nodes(t.Context())
				assertNoSecret(t, err)
				for _, row := range rows {
					assertNoSecret(t, row.Node, row.Err, fmt.Sprintf("%+v", row))
				}
				time.Sleep(200 * time.Millisecond)
			}
			for _, m := range w.Masters() {
				if !m.Up() {
					m.Restart()
				}
				m.RequirePassword(secretPassword)
			}
			w.Heal()
			time.Sleep(20 * time.Second)
		}
		_ = held.Unlock(t.Context())
		mu.Lock()
		defer mu.Unlock()
		require.NotEmpty(t, traced)
		require.NotEmpty(t, log.lines(""))
		assertNoSecret(t, traced...)
		assertNoSecret(t, log.lines(""))
	})
}
