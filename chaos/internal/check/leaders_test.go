package check_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// term makes an acquisition the leadership of a term.
func term(n uint64) func(*history.Event) {
	return func(e *history.Event) { e.Mode, e.Fencing, e.Fence = kinds.Leader, true, n }
}

// uses is an access of a leader to the register, in which it presents a term.
func (s *builder) uses(ms float64, kind history.Kind, client string, presents uint64) *builder {
	return s.add(ms, kind, client, 1, func(e *history.Event) {
		e.Mode, e.Register, e.Fence = kinds.Leader, history.Fenced, presents
	})
}

// A leader's term is its fencing token.
func TestLeaders(t *testing.T) {
	t.Parallel()
	const forgets, jumps = "evict", "clock-forward"
	tests := map[string]struct {
		builder *builder
		says    string
	}{
		"terms that grow": {new(builder).held(0, 10, 50, "a", 1, term(7)).held(20, 60, 90, "b", 1, term(8)), ""},
		"without a term":  {new(builder).held(0, 10, 50, "a", 1, term(0)), "asked for a fencing token, and got none"},
		"twice one term": {
			new(builder).held(0, 10, 50, "a", 1, term(7)).held(0, 60, 90, "b", 1, term(7)), "both got the token 7",
		},
		"a smaller term": {
			new(builder).held(0, 10, 50, "a", 1, term(7)).held(70, 80, 90, "b", 1, term(6)),
			"b.0/worker 0/op 1 got the token 6, not larger than the 7 that a.0",
		},
		"of two elections": {
			new(builder).held(0, 10, 50, "a", 1, term(7)).held(70, 80, 90, "b", 1, term(6), func(e *history.Event) {
				e.Name = "other"
			}),
			"",
		},
		"a smaller one than long before": {
			new(builder).held(0, 10, 20, "a", 1, term(7)).held(0, 30, 40, "b", 1, term(8)).held(45, 50, 60, "c", 1, term(5)),
			"than the 8 that b.0",
		},
		"a smaller term of one who campaigned before, and led afterwards": {
			new(builder).held(0, 10, 50, "a", 1, term(7)).held(5, 60, 90, "b", 1, term(6)), "got the token 6",
		},
		"the same, when counters were lost": {
			new(builder).fault(1, history.Inject, forgets, 0).held(0, 10, 50, "a", 1, term(7)).held(5, 60, 90, "b", 1, term(6)),
			"",
		},
		"a smaller term of one who campaigned before, when a master's clock jumped": {
			new(builder).fault(20, history.Inject, jumps, 0).held(0, 300, 500, "a", 1, term(1000)).
				held(60, 61, 62, "b", 1, term(1060)), "",
		},
		"the same, without any fault": {
			new(builder).held(0, 300, 500, "a", 1, term(1000)).held(60, 61, 62, "b", 1, term(1060)), "got the token 1000",
		},
		"a smaller term, when a master's clock jumped": {
			new(builder).fault(20, history.Inject, jumps, 0).held(0, 10, 50, "a", 1, term(7)).held(20, 60, 90, "b", 1, term(6)),
			"got the token 6",
		},
		"a smaller term, when counters were lost": {
			new(builder).fault(1, history.Inject, forgets, 0).held(0, 10, 50, "a", 1, term(7)).held(20, 60, 90, "b", 1, term(6)),
			"got the token 6",
		},
		"a smaller term, when something else broke": {
			new(builder).fault(1, history.Inject, "freeze", 0).held(0, 10, 50, "a", 1, term(7)).held(5, 60, 90, "b", 1, term(6)),
			"got the token 6",
		},
		"a smaller term of another leader at the same time": {
			new(builder).held(0, 10, 50, "a", 1, term(7)).held(5, 20, 90, "b", 1, term(6)), "",
		},
		"a write of a mutex's holder under a smaller token": {
			new(builder).kept(0, 10, 50, "a", 1, fence(7)).kept(0, 60, 90, "b", 1, fence(8)).uses(61, history.Read, "b", 8).
				uses(70, history.Written, "a", 7), "",
		},
		"a write, and then the successor's": {
			new(builder).kept(0, 10, 50, "a", 1, term(7)).kept(0, 60, 90, "b", 1, term(8)).uses(55, history.Written, "a", 7).
				uses(61, history.Read, "b", 8).uses(62, history.Written, "b", 8), "",
		},
		"a deposed leader's write after its successor has read": {
			new(builder).kept(0, 10, 50, "a", 1, term(7)).kept(0, 60, 90, "b", 1, term(8)).uses(61, history.Read, "b", 8).
				uses(70, history.Written, "a", 7),
			"the register took a write of a.0/worker 0/op 1, leader of term 7, at 0.070 s, after b.0/worker 0/op 1, leader " +
				"of term 8, had used it at 0.061 s",
		},
		"a deposed leader's write under the new term": {
			new(builder).kept(0, 10, 50, "a", 1, term(7)).kept(0, 60, 90, "b", 1, term(8)).uses(61, history.Written, "b", 8).
				uses(70, history.Written, "a", 8), "leader of term 7",
		},
		"a deposed leader's write is rejected": {
			new(builder).kept(0, 10, 50, "a", 1, term(7)).kept(0, 60, 90, "b", 1, term(8)).uses(61, history.Written, "b", 8).
				uses(70, history.Rejected, "a", 7), "",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := check.Fencing(tt.builder.events, check.Terms{Reordering: []string{forgets, jumps}}).Findings
			found = append(found, check.Register(tt.builder.events).Findings...)
			if tt.says == "" {
				assert.Empty(t, found)
				return
			}
			require.NotEmpty(t, found)
			var all []string
			for _, f := range found {
				all = append(all, f.Text)
				assert.NotEmpty(t, f.Events)
			}
			assert.Contains(t, strings.Join(all, "\n"), tt.says)
		})
	}
}
