//go:build !race

package simulation_test

// ordinary is how many schedules run by default.
const ordinary = 88
