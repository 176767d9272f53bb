package redlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

// Whichever of its names a majority of the masters has lost, the whole lock is lost, and its other names are released.
func TestLockAllIsLostWithEachOfItsNames(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	notices := map[string]func(t *testing.T, lk *redlock.Lock){
		"Extend":    func(t *testing.T, lk *redlock.Lock) { require.ErrorIs(t, lk.Extend(t.Context()), redlock.ErrLost) },
		"keepalive": func(*testing.T, *redlock.Lock) { time.Sleep(ttl / 2) },
		"Unlock":    func(*testing.T, *redlock.Lock) {},
	}
	losses := map[string]func(m *simnet.Master, name string){
		"another's":    func(m *simnet.Master, name string) { m.Set(name, "foreign", time.Minute) },
		"another kind": func(m *simnet.Master, name string) { m.Redis().Del(name); _, _ = m.Redis().Push(name, "foreign") },
		"gone":         func(m *simnet.Master, name string) { m.Redis().Del(name) },
	}
	for how, notice := range notices {
		for what, lose := range losses {
			for _, lost := range names {
				t.Run(how+", "+lost+" "+what, func(t *testing.T) {
					t.Parallel()
					inWorld(t, 3, func(t *testing.T, w *world) {
						l := w.locker(t, "a")
						opts := []redlock.LockOption{redlock.WithFencing()}
						if how != "keepalive" {
							opts = append(opts, redlock.WithoutKeepalive())
						}
						lk, err := l.LockAll(t.Context(), names, opts...)
						require.NoError(t, err)
						synctest.Wait()
						for _, m := range w.some(0, 2) {
							lose(m, lost)
						}
						notice(t, lk)
						if how != "Unlock" {
							require.ErrorIs(t, lk.Err(), redlock.ErrLost)
						}
						require.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrLost)
						synctest.Wait()
						for _, name := range names {
							assert.Zero(t, w.holders(name, lk.Token()), name)
						}
						for i, m := range w.Masters() {
							switch {
							case i == 2 || what == "gone":
								assert.NotContains(t, m.Keys(), lost)
							case what == "another's":
								assert.Equal(t, "foreign", m.Get(lost))
								assert.Greater(t, m.TTL(lost), 50*time.Second)
							default:
								list, _ := m.Redis().List(lost)
								assert.Equal(t, []string{"foreign"}, list)
								assert.Zero(t, m.TTL(lost))
							}
						}
					})
				})
			}
		}
	}
}
