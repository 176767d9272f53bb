package stacktest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/simnet"
)

// entry puts a hold of a kind on a master, for 10 s.
func entry(m *simnet.Master, kind, token string) {
	ends := time.Now().Add(ttl)
	_, _ = m.Redis().ZAdd("x", float64(ends.UnixMilli()), "redlock:"+kind+":"+token)
	m.Redis().SetTTL("x", ttl)
}

// madeToken makes a token of an owner.
func madeToken(owner string, n int) string { return owner + ":" + fmt.Sprintf("%032x", n) }

// A name that many hold is listed in part, and counted whole.
func TestInspectCountsTheHoldersThatItDoesNotList(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("o", 1024)
	for _, tt := range []struct {
		kind, owner string
		holds       int
		slots       int
		listed      int
	}{
		{kind: "reader", owner: "me", holds: 1024, listed: 1024},
		{kind: "reader", owner: "me", holds: 1500, listed: 1024},
		{kind: "reentrant", owner: long, holds: 1000, listed: 63},
		{kind: "semaphore", owner: long, holds: 1000, slots: 1024, listed: 62},
	} {
		subWorld(t, fmt.Sprint(tt.kind, " ", tt.holds), 3, func(t *testing.T, w *world) {
			for i := range tt.holds {
				token := madeToken(tt.owner, i)
				if tt.slots > 0 {
					token = fmt.Sprintf("%d:%d:%s", tt.slots, i+1, token)
				}
				for _, m := range w.Masters() {
					entry(m, tt.kind, token)
				}
			}
			h, err := w.locker(t, "a").Inspect(t.Context(), "x")
			require.NoError(t, err)
			assert.EqualValues(t, tt.kind, h.Kind)
			assert.Len(t, h.Holders, tt.listed)
			assert.Equal(t, tt.holds-tt.listed, h.Others)
			assert.Equal(t, tt.slots, h.Slots)
			if tt.kind == "reentrant" {
				assert.Equal(t, tt.holds, h.Depth)
			}
			for _, n := range h.Nodes {
				assert.Equal(t, h.Others, n.Others)
			}
		})
	}
}
