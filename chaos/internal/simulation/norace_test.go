//go:build !race

package simulation_test

// ordinary is the default number of schedules.
const ordinary = 88
