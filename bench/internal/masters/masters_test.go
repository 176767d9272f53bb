package masters

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCallsInCommandStatistics(t *testing.T) {
	t.Parallel()
	assert.Equal(
		t, int64(45),
		callsIn(
			"# Commandstats\r\ncmdstat_evalsha:calls=42,usec=1,failed_calls=0\r\n"+
				"cmdstat_eval:calls=3,usec=9\r\ncmdstat_set:calls=7,usec=1\r\n",
		),
	)
	assert.Zero(t, callsIn(""))
}
