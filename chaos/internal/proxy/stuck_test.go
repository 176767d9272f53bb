package proxy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/faults"
)

func TestAChangeThatGetsStuckIsAnErrorAndNotTheEnd(t *testing.T) {
	t.Parallel()
	p, err := New("127.0.0.1:1")
	require.NoError(t, err)
	p.patience = 10 * time.Millisecond
	held := p.proxy.Toxics
	held.Lock()
	defer held.Unlock()
	require.ErrorContains(t, p.Set(faults.Slow), `from "fine" to "slow"`)
	require.ErrorContains(t, p.Set(faults.Fine), "play the scenario again", "it is not to be trusted any more")
	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
}
