package peers

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/masters"
	"github.com/redlock-go/redlock/internal/redisproc"
)

func TestARecordingIsRepeatedWithNamesOfItsOwn(t *testing.T) {
	t.Parallel()
	r := recording{
		name: recordedName, token: "host:1:abcdef",
		lock:   exchange{[]byte("SET bench:floor:000000 host:1:abcdef\r\n"), []byte("+OK\r\n")},
		unlock: exchange{[]byte("DEL bench:floor:000000 host:1:abcdef\r\n"), []byte(":1\r\n")},
	}
	require.NoError(t, r.check())
	two := r.times(2, r.lock)
	assert.Equal(
		t, "SET bench:floor:000000 host:1:000000\r\nSET bench:floor:000001 host:1:000001\r\n", string(two.request),
	)
	assert.Equal(t, "+OK\r\n+OK\r\n", string(two.reply))

	refused := r
	refused.unlock.reply = []byte("-NOSCRIPT\r\n")
	require.ErrorContains(t, refused.check(), "was refused")
	refused.unlock = exchange{[]byte("PING\r\n"), []byte("+PONG\r\n")}
	require.ErrorContains(t, refused.check(), "does not name the lock")
}

// The floor must do what a lock does, on every master: the control is a master that already has one of its keys.
func TestTheFloorIsHeldToTheRightAnswers(t *testing.T) {
	redisproc.Need(t)
	m, err := masters.Start(t.Context(), nil, false, 3)
	require.NoError(t, err)
	defer func() { assert.NoError(t, m.Close()) }()
	p, err := openLowerBound(m.URLs, Options{TTL: time.Minute})
	require.NoError(t, err)
	defer func() { assert.NoError(t, p.Close()) }()

	s, err := load.Load{Callers: 700, Window: 20 * time.Millisecond}.Run(t.Context(), p)
	require.NoError(t, err)
	assert.Positive(t, s.Pairs)
	assert.Zero(t, s.Pairs%700)
	for i := range m.URLs {
		n, few, err := m.KeysLeft(t.Context(), i)
		require.NoError(t, err)
		assert.Zero(t, n, "%v", few)
	}
	lock := p.(*lowerBound).rec.lock
	assert.Contains(t, strings.ToLower(string(lock.request)), "nx")

	require.NoError(t, m.Clients[2].Set(t.Context(), "bench:floor:000003", "another's", 0).Err())
	_, err = load.Load{Callers: 8, Window: 20 * time.Millisecond}.Run(t.Context(), p)
	assert.ErrorContains(t, err, "a master answered")
}
