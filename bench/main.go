// Command bench compares what a lock costs: redlock over a quorum of masters and over one, the usual alternatives, and
// the kinds of locks among each other. One interleaved run measures all of them, on masters that it starts for itself:
// near and far, with one caller and with many, healthy and with a master that fails.
//
//	go run ./bench            all parts, less than twenty minutes
//	go run ./bench latency    one of them
//	go run ./bench -smoke     about a minute
//	go run ./bench -check     exits with 1 and names what misses its target
//
// Absolute figures belong to the machine; ratios carry over to others. Ratios are taken round by round, because a
// disturbance of the machine in one round affects every contestant of that round. Each figure is a median with its
// lowest and highest value, because a median without its spread says nothing.
package main

import (
	"os"

	"github.com/redlock-go/redlock/bench/internal/suite"
)

func main() {
	os.Exit(suite.Main(os.Args[1:], os.Stdout, os.Stderr))
}
