package wire_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/wire"
)

// A release whose first attempt failed is repeated until the master answers, under every fault.
func TestAReleaseOverAWrappedClientIsRepeatedUntilTheMasterAnswers(t *testing.T) {
	t.Parallel()
	const down = 5 * time.Second
	for name, meets := range map[string]struct {
		reset bool                 // the first attempt meets the end of its connection
		fault func(*simnet.Master) // what the others meet; without reset, the first one as well
	}{
		"a reset":                 {reset: true, fault: func(*simnet.Master) {}},
		"a reset, then a freeze":  {reset: true, fault: (*simnet.Master).Freeze},
		"a reset, then a refusal": {reset: true, fault: refuse},
		"a freeze":                {fault: (*simnet.Master).Freeze},
		"a refused connection":    {fault: refuse},
		"a black hole":            {fault: func(m *simnet.Master) { m.BlackHole() }},
	} {
		t.Run(name, func(t *testing.T) {
			inBubbleWrapped(t, nil, func(t *testing.T, r *rig, c *redis.Client) {
				r.m.Delay(time.Millisecond, 0)
				r.warm()
				a := r.ask(wire.Command("acquire", nil, "set", "a", "me", "nx", "px", time.Hour.Milliseconds()))
				require.Equal(t, wire.Granted, a.result().Verdict)
				require.Equal(t, []string{"a"}, r.m.Keys())
				var met atomic.Bool
				if meets.reset {
					r.m.HangUp(func(args []string) bool {
						return args[0] == "evalsha" && args[2] == "1" && met.CompareAndSwap(false, true)
					})
				} else {
					meets.fault(r.m)
				}
				rel := r.ask(release("a", "me"), durably, withKeyTTL(time.Hour), firstAsked(a.call.Asked))
				if meets.reset {
					r.eventually(time.Second, "the first attempt", met.Load)
					meets.fault(r.m)
				}
				assert.NotEqual(t, wire.Denied, rel.result().Verdict)
				time.Sleep(down)
				r.m.Heal()
				r.eventually(5*time.Second, "the key is gone", r.gone)
			})
		})
	}
}

// refuse has a master end its connections and accept none.
func refuse(m *simnet.Master) {
	m.Refuse()
	m.Reset()
}
