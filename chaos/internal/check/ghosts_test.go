package check_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

func TestGhostsNeedAMajority(t *testing.T) {
	t.Parallel()
	minority := []history.Event{{Kind: history.Inject, On: "masters", Targets: []int{1}}}
	majority := append(minority, history.Event{Kind: history.Inject, On: "masters", Targets: []int{2}})
	healed := append(majority, history.Event{Kind: history.Heal, On: "masters", Targets: []int{1, 2}})
	event := func(kind history.Kind) history.Event {
		return history.Event{Kind: kind, Phase: history.Ghosts, Client: "c0", Name: "ghost"}
	}
	for name, tt := range map[string]struct {
		before []history.Event
		then   history.Kind
		says   string
	}{
		"acquired behind a minority": {minority, history.Acquired, ""},
		"refused behind a minority":  {minority, history.Refused, "though only a minority of the masters was frozen"},
		"refused behind a majority":  {majority, history.Refused, ""},
		"acquired behind a majority": {majority, history.Acquired, "though a majority of the masters was frozen"},
		"acquired after the thaw":    {healed, history.Acquired, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := append(append([]history.Event{}, tt.before...), event(history.Invoked), event(tt.then))
			v := check.Ghosts(events, masters)
			if tt.says == "" {
				assert.Empty(t, v.Findings)
				return
			}
			require.Len(t, v.Findings, 1)
			assert.Contains(t, v.Findings[0].Text, tt.says)
		})
	}
}
