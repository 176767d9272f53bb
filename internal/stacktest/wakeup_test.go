package stacktest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/kind"
)

// A waiter must try again once a majority of the masters has released the name and has said so, whichever other
// messages came before. A message that does not belong to the release may wake it too early. That attempt is denied,
// and the messages that are then left are not a majority any more.
func TestAnEarlyMessageDoesNotHideARelease(t *testing.T) {
	t.Parallel()
	const lag = 300 * time.Millisecond
	for _, tt := range []struct {
		name    string
		masters int
		release []int // the masters on which the name is released; the others are down
		slow    int   // the master that is slow; -1: none
	}{
		{"three masters, one down", 3, []int{0, 1}, -1},
		{"five masters, two down", 5, []int{0, 1, 2}, -1},
		{"five masters, two down, one slow", 5, []int{0, 1, 2}, 0},
	} {
		for _, order := range orders(tt.release) {
			for early := range 1 << len(order) {
				t.Run(fmt.Sprintf("%s, early %b, order %v", tt.name, early, order), func(t *testing.T) {
					t.Parallel()
					inWorld(t, tt.masters, func(t *testing.T, w *world) {
						b := w.locker(t, "b", patient)
						w.foreign("x", time.Hour)
						out := locking(t.Context(), b, "x")
						time.Sleep(time.Minute)
						for _, m := range w.some(len(order), tt.masters) {
							m.Crash()
						}
						if tt.slow >= 0 {
							w.Host("b").To(tt.slow).Delay(lag/2, 0)
						}
						for i, m := range order {
							if early&(1<<i) != 0 {
								w.Master(m).Del("another", kind.Channel("x"), "")
							}
						}
						time.Sleep(2 * time.Second)
						waiting(t, out, "the name is held")
						for _, m := range order {
							w.Master(m).Del("x", kind.Channel("x"), "")
							time.Sleep(20 * time.Millisecond)
						}
						got := ended(t, out, 5*lag)
						require.NoError(t, got.err)
						unlock(t, got.lock)
					})
				})
			}
		}
	}
}

// orders returns every order of some masters.
func orders(masters []int) (all [][]int) {
	if len(masters) == 0 {
		return [][]int{nil}
	}
	for i, first := range masters {
		rest := append(append([]int(nil), masters[:i]...), masters[i+1:]...)
		for _, order := range orders(rest) {
			all = append(all, append([]int{first}, order...))
		}
	}
	return all
}
