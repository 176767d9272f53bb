package broken

import (
	"slices"

	"github.com/redlock-go/redlock/internal/wire"
)

// grantUnasked grants every lock in the name of the first master, which is not asked. So one vote fewer than a majority
// wins.
func grantUnasked(w *Wrapping) {
	w.grant = func(master int, c *wire.Call) bool {
		return master == 0 && slices.Contains([]string{"acquire", "raise", "extend", "release"}, c.Op.Name)
	}
}

// skipRaise does not write fencing tokens back, and says that the masters took them.
func skipRaise(w *Wrapping) {
	w.grant = func(_ int, c *wire.Call) bool { return c.Op.Name == "raise" }
}

// keepLeftovers does not send the releases of acquisitions that no majority has granted.
func keepLeftovers(w *Wrapping) {
	w.grant = func(_ int, c *wire.Call) bool { return c.Op.Name == "release" && w.requests.failed(c) }
}

// separateTwins gives one server another run id at each of its addresses.
func separateTwins(master int, _ *wire.Call, v *wire.Vote) {
	if v.Server != nil {
		server := *v.Server
		server.RunID += string(rune('a' + master))
		v.Server = &server
	}
}

// countHealed turns the vote of a master that got a missing key back into a grant.
func countHealed(_ int, _ *wire.Call, v *wire.Vote) {
	if v.Healed {
		v.Verdict = wire.Granted
	}
}

// extendAlways grants every extension, whatever the masters answer, and also if they do not.
func extendAlways(_ int, c *wire.Call, v *wire.Vote) {
	if c.Op.Name == "extend" {
		*v = wire.Vote{Verdict: wire.Granted, Server: v.Server}
	}
}
