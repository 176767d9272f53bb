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

func TestInspectWhereTheMastersDisagree(t *testing.T) {
	t.Parallel()
	me := func(n int) string { return madeToken("me", n) }
	for _, tt := range []struct {
		name    string
		make    func(i int, m *simnet.Master)
		kind    string
		depth   int
		fence   uint64
		holders map[string]int // the votes of each
	}{
		{"no majority counts alike", func(i int, m *simnet.Master) {
			m.Set("x", me(1), ttl)
			count(m, "x", []string{"11", "11", "12", "12", "13"}[i])
		}, "mutex", 1, 0, map[string]int{me(1): 5}},
		{"a majority counts alike", func(i int, m *simnet.Master) {
			m.Set("x", me(1), ttl)
			count(m, "x", []string{"11", "12", "12", "12", "13"}[i])
		}, "mutex", 1, 12, map[string]int{me(1): 5}},
		{"a minority knows of a holder", func(i int, m *simnet.Master) {
			if i < 2 {
				m.Set("x", me(1), ttl)
				count(m, "x", "11")
			}
		}, "", 0, 0, nil},
		{"a minority knows of one reader", func(i int, m *simnet.Master) {
			entry(m, "reader", me(1))
			if i < 2 {
				entry(m, "reader", me(2))
			}
		}, "reader", 1, 0, map[string]int{me(1): 5}},
		{"two minorities", func(i int, m *simnet.Master) {
			switch i {
			case 0, 1:
				m.Set("x", me(1), ttl)
			case 2, 3:
				entry(m, "writer", me(2))
			}
		}, "", 0, 0, nil},
		{"a minority knows of another kind", func(i int, m *simnet.Master) {
			if i < 2 {
				entry(m, "reader", me(1))
			} else {
				m.Set("x", me(2), ttl)
			}
		}, "mutex", 1, 0, map[string]int{me(2): 3}},
		{"holds of one owner, each on a majority of its own", func(i int, m *simnet.Master) {
			if i < 3 {
				entry(m, "reentrant", me(1))
			}
			if i > 1 {
				entry(m, "reentrant", me(2))
			}
			if i != 1 && i != 2 {
				entry(m, "reentrant", me(3))
			}
		}, "reentrant", 3, 0, map[string]int{me(1): 3, me(2): 3, me(3): 3}},
		{"holds of two owners, none on a majority", func(i int, m *simnet.Master) {
			if i < 4 {
				entry(m, "reentrant", madeToken([]string{"me", "me", "you", "you"}[i], 1))
			}
		}, "", 0, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 5, func(t *testing.T, w *world) {
				l := w.locker(t, "a")
				var before []string
				for i, m := range w.Masters() {
					tt.make(i, m)
					before = append(before, strings.Join(m.Keys(), " "))
				}
				h, err := l.Inspect(t.Context(), "x")
				require.NoError(t, err)
				assert.EqualValues(t, tt.kind, h.Kind)
				assert.Equal(t, tt.depth, h.Depth)
				assert.Equal(t, tt.fence, h.Fence)
				votes := make(map[string]int)
				for _, one := range h.Holders {
					votes[one.Token] = one.Votes
					assert.Equal(t, ttl, one.Left.Round(time.Second))
				}
				assert.Len(t, votes, len(tt.holders))
				for token, n := range tt.holders {
					assert.Equal(t, n, votes[token], token)
				}
				require.Len(t, h.Nodes, 5)
				for i, n := range h.Nodes {
					assert.NoError(t, n.Err)
					held := strings.Contains(" "+before[i]+" ", " x ")
					assert.Equal(t, held, n.Kind != "", "each row has what its master knows")
					assert.Equal(t, held, len(n.Holders) > 0)
				}
			})
		})
	}
}

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
		t.Run(fmt.Sprint(tt.kind, " ", tt.holds), func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
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
		})
	}
}
