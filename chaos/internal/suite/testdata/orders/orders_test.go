// Package orders has a test that fails in some orders of an exact run. Which these are depends on the version of Go.
package orders

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
)

func TestPasses(t *testing.T) { synctest.Test(t, func(*testing.T) {}) }

func TestFailsByChance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if rand.IntN(3) == 0 {
			t.Fatal("this order is a bad one")
		}
	})
}
