package redlock_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/node"
)

// BenchmarkKeeper is what the keeper does for one extension of one of so many held locks.
func BenchmarkKeeper(b *testing.B) {
	for _, held := range []int{100, 100_000} {
		b.Run(fmt.Sprint(held, " locks"), func(b *testing.B) {
			unreachable, err := node.Open("redis://127.0.0.1:1") // nothing is sent
			require.NoError(b, err)
			l, err := redlock.New([]*node.Node{unreachable})
			require.NoError(b, err)
			plan, stop := l.Keeping(held)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				plan(i % held)
			}
			b.StopTimer()
			stop()
			require.NoError(b, l.Close())
		})
	}
}
