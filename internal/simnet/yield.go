package simnet

import (
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
)

// yields is the probability with which an operation of a connection or of a clock lets the other goroutines that are
// ready go first, and again after that. Where one thread runs all goroutines and their random bits come from a seed,
// as in package exact of the harness, so do their orders. It is 0 unless the environment says otherwise.
var yields, _ = strconv.ParseFloat(os.Getenv("REDLOCK_YIELDS"), 64)

func yield() {
	if yields == 0 {
		return
	}
	for rand.Float64() < yields {
		runtime.Gosched()
	}
}
