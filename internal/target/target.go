// Package target hands what a user set for a master, with package node, to package link, which makes the connections.
// Code outside this module cannot import it, so a [node.Node] shows its users nothing but a name.
//
// [node.Node]: https://pkg.go.dev/github.com/redlock-go/redlock/node#Node
package target

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/redlock-go/redlock/clock"
)

// Target is a master as a user described it: a URL, or a client.
type Target struct {
	Name  string
	Zone  string // of the URL; "" if there is none
	Clock clock.Clock

	// Server is the *redis.Options of a URL, or a client: a *redis.Client or a *redis.ClusterClient. Its type is hidden,
	// since every package whose types lead to those of go-redis takes a second longer to compile, a user's too.
	Server any
	Dial   func(ctx context.Context, network, addr string) (net.Conn, error) // with the *redis.Options

	Bound atomic.Bool // a Locker has it
}

var of func(node any) *Target

// Register sets the function that Of calls. Package node calls it.
func Register(f func(node any) *Target) { of = f }

// Of returns the target of a *node.Node.
func Of(node any) *Target { return of(node) }
