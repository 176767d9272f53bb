package kind

import (
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/wire"
)

// fenceLife is how long a fence counter outlives the last lock that used it. When the counter is gone, the next token
// comes from the clock of the client (the hint). That token is larger than all before it, as long as no client's clock
// is fenceLife ahead.
const fenceLife = 24 * time.Hour

// hintLimit is the first time that cannot be a hint for fencing tokens: 2^53 microseconds after 1970. Numbers in Lua
// scripts are doubles, which are exact only below 2^53, so a counter with that value could no longer grow.
var hintLimit = time.UnixMicro(1 << 53)

// CheckHint returns an error if the time cannot be a hint for a fencing token.
func CheckHint(now time.Time) error {
	if now.Before(time.Unix(0, 0)) || !now.Before(hintLimit) {
		return fmt.Errorf("the clock of this machine shows %s, and fencing tokens can be taken from 1970 to %d only: "+
			"set the clock, or lock without WithFencing",
			now.UTC().Format(time.RFC3339), hintLimit.Year())
	}
	return nil
}

// fenceArg returns a fencing token as a script's argument: "" for none.
func fenceArg(fence int64) any {
	if fence == 0 {
		return ""
	}
	return fence
}

// isFence reports whether n can be a fencing token, or 0 for none. A script's numbers are exact below 2^53.
func isFence(n int64) bool { return n >= 0 && n < 1<<53 }

// raiseReader returns a function that reads the reply of raise: the counter or, for a permit, the token. Only a reply
// that equals fence is a grant: with a larger one, the master has given out another token.
func raiseReader(fence int64) func(any) wire.Vote {
	return func(reply any) wire.Vote {
		v := wire.ReadNumber(reply)
		if v.Verdict == wire.Granted && v.Number != fence {
			v.Verdict = wire.Denied
		}
		return v
	}
}
