//go:build race

package simulation_test

// ordinary is how many schedules run by default. The race detector makes each ten times as expensive.
const ordinary = 22
