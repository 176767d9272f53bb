package quorum_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// prompt is a node that grants everything at once.
type prompt struct{ name string }

var _ quorum.Node = prompt{}

func (p prompt) Name() string                             { return p.name }
func (prompt) Bind(func(func() error), func(error)) error { return nil }
func (prompt) Submit(c *wire.Call)                        { c.Voter.Vote(c.Index, wire.Vote{Verdict: wire.Granted}) }
func (prompt) Suspect() bool                              { return false }
func (prompt) Listen(string, func(string)) (stop func())  { return func() {} }
func (prompt) Close(time.Time) (unconfirmed int)          { return 0 }

// BenchmarkRounds measures a lock and an unlock without masters and network.
func BenchmarkRounds(b *testing.B) {
	for _, n := range []int{1, 5, 9} {
		b.Run(fmt.Sprint(n, " nodes"), func(b *testing.B) {
			nodes := make([]quorum.Node, n)
			for i := range nodes {
				nodes[i] = prompt{fmt.Sprint("node-", i)}
			}
			q, err := quorum.New(quorum.Config{Nodes: nodes, Clock: clock.System})
			require.NoError(b, err)
			terms := quorum.Terms{TTL: time.Minute, Drift: time.Second, Timeout: time.Second}
			done := make(chan error, 1)
			b.ReportAllocs()
			for b.Loop() {
				lease, err := q.Acquire(context.Background(), ops{}, &terms, quorum.NoFirst, new(quorum.PermanentFailures))
				if err != nil {
					b.Fatal(err)
				}
				lease.Release(false, func(_ int64, err error) { done <- err })
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
