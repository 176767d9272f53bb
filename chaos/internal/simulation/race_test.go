//go:build race

package simulation_test

// ordinary is how many schedules run by default. The race detector makes each ten times as expensive; make sim runs
// more without it.
const ordinary = 8
