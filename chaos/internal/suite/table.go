package suite

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// table has the hashes of exact runs. Two runs of one program have the same table, however many processors they use.
type table struct {
	mu   sync.Mutex
	rows []tableRow
}

type tableRow struct {
	seed, order uint64
	hash        string
}

func (t *table) add(seed, order uint64, hash string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, tableRow{seed, order, hash})
}

func (t *table) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortFunc(t.rows, func(a, b tableRow) int {
		return cmp.Or(cmp.Compare(a.seed, b.seed), cmp.Compare(a.order, b.order))
	})
	var b strings.Builder
	for _, r := range t.rows {
		fmt.Fprintf(&b, "%d %d %s\n", r.seed, r.order, r.hash)
	}
	return b.String()
}
