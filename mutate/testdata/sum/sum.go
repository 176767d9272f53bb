// Package sum is mutated by the tests of package mutate.
package sum

import (
	"embed"
	"errors"
)

//go:embed lua
var scripts embed.FS

// ErrNegative is returned for a negative number.
var ErrNegative = errors.New("negative")

// Script returns the script.
func Script() string {
	text, _ := scripts.ReadFile("lua/one.lua")
	return string(text)
}

// Sum returns the sum of the numbers below a bound, and how many there are.
func Sum(bound int, numbers ...int) (sum, n int, err error) {
	for _, number := range numbers {
		if number < 0 {
			return 0, 0, ErrNegative
		}
		if number >= bound {
			continue
		}
		sum = sum + number
		n++
	}
	return sum, n, nil
}

// Both reports whether both are true.
func Both(a, b bool) bool { return a && b }

// Untested is reached by no test.
func Untested(a int) bool { return a == 1 }
