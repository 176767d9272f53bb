//go:build race

package simulation_test

// ordinary is the default number of schedules. The race detector makes each ten times as expensive; make sim runs more
// without it.
const ordinary = 8
