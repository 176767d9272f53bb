package peers

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/redlocktest"
)

func TestEveryKindIsWhatItsRowSays(t *testing.T) {
	t.Parallel()
	urls := redlocktest.URLs(redlocktest.Start(t, QuorumMasters))
	rows := map[string]struct {
		kind          string
		depth         int
		FencedMutex   bool
		describeShort int
	}{
		"mutex":           {kind: "mutex", depth: 1, describeShort: 1},
		"mutex+fencing":   {kind: "mutex", depth: 1, describeShort: 1, FencedMutex: true},
		"reader":          {kind: "reader", depth: 1, describeShort: 1},
		"writer":          {kind: "writer", depth: 1, describeShort: 1},
		"reentrant":       {kind: "reentrant", depth: 1, describeShort: 1},
		"reentrant inner": {kind: "reentrant", depth: 2, describeShort: 1},
		"three names":     {kind: "mutex", depth: 1, describeShort: 3},
	}
	assert.Len(t, Kinds(), len(rows))
	for name, want := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			picked, err := Pick(Kinds(), name)
			require.NoError(t, err)
			opened, err := picked[0].Open(urls, Options{TTL: time.Minute})
			require.NoError(t, err)
			defer func() { assert.NoError(t, opened.Close()) }()
			p := opened.(*kindPairer)

			for range 2 { // an inner hold is one from the first pair on, and stays one
				lock, err := p.lockKind(t.Context(), p, name+":1")
				require.NoError(t, err)
				assert.Equal(t, want.FencedMutex, lock.Fence() > 0)
				names := strings.Split(lock.Name(), ",")
				assert.Len(t, names, want.describeShort)
				for _, held := range names {
					h, err := p.locker.Inspect(t.Context(), held)
					require.NoError(t, err)
					assert.EqualValues(t, want.kind, h.Kind)
					assert.Equal(t, want.depth, h.Depth)
				}
				require.NoError(t, lock.Unlock(t.Context()))
			}
		})
	}
}
