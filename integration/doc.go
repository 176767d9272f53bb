// Package integration holds the tests of redlock against real Redis: five masters in containers, which are killed,
// frozen and cut off, as an in-process double never is; and together with other clients of the same masters.
package integration
