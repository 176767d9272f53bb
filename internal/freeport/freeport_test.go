package freeport_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/freeport"
)

func TestReservedPortsAreFreeAndDiffer(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 1000 { // of 10,000: without a reservation some would be the same
		p, err := freeport.Reserve()
		require.NoError(t, err)
		t.Cleanup(p.Release)
		assert.False(t, seen[p.Number()], "port %d", p.Number())
		seen[p.Number()] = true
	}
}

func TestAServerMayListenOnItsPortAgainAndAgain(t *testing.T) {
	t.Parallel()
	p, err := freeport.Reserve()
	require.NoError(t, err)
	defer p.Release()
	for range 2 {
		l, err := freeport.Listen(p.Addr()) // the other test forks processes
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
}
