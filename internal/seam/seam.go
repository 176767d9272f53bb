// Package seam gives packages of this module access to the inside of a Locker: test harnesses replace its nodes and
// scripts, package doctor reads its settings. Code outside this module cannot import it.
package seam

import (
	"time"

	"github.com/redlock-go/redlock/quorum"
)

// Hooks are the replacements. The zero value replaces nothing.
type Hooks struct {
	// Nodes, if set, returns the nodes that a Locker uses in place of those that it is opened with.
	Nodes func([]quorum.Node) []quorum.Node
	// Script, if set, returns the text that the masters run in place of a script. name is the name of the script's file
	// without its ending.
	Script func(name, text string) string
	// MaxTTL is the default of WithMaxTTL if the Locker's own TTL and minimum hold are shorter.
	MaxTTL time.Duration
}

var option func(Hooks) any

// Register sets the function that makes the options. Package redlock calls it.
func Register(make func(Hooks) any) { option = make }

// Option returns a redlock.Option that sets the hooks. The caller asserts its type: this package cannot import package
// redlock.
func Option(h Hooks) any { return option(h) }
