package broken

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/wire"
)

func TestOnlyTheLatestRequestsAreKept(t *testing.T) {
	t.Parallel()
	r := requests{need: 1}
	for i := range 2 * remembered {
		op := &wire.Op{Name: "acquire", Lock: fmt.Sprint(i % 10)}
		one := r.sent(&wire.Call{Request: &wire.Request{Op: op, Asked: time.Unix(int64(i), 0)}})
		r.voted(one, wire.Vote{Verdict: wire.Granted})
	}
	assert.Len(t, r.inOrder, remembered)
	assert.Len(t, r.byOp, remembered)
	assert.Len(t, r.acquired, remembered)
	assert.Len(t, r.last, 10)
}
