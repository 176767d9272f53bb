package broken

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/node"
)

func TestOnlyTheLatestRequestsAreKept(t *testing.T) {
	t.Parallel()
	r := requests{need: 1}
	for i := range 2 * remembered {
		op := &node.Op{Name: "acquire", Lock: fmt.Sprint(i % 10)}
		one := r.sent(&node.Call{Request: node.Request{Op: op, Asked: time.Unix(int64(i), 0)}})
		r.voted(one, node.Vote{Verdict: node.Granted})
	}
	assert.Len(t, r.inOrder, remembered)
	assert.Len(t, r.byOp, remembered)
	assert.Len(t, r.acquired, remembered)
	assert.Len(t, r.last, 10)
}
