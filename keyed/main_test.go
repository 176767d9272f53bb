package keyed_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/redlocktest"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// inBubble is a parallel test with three masters in virtual time. open returns another Locker over them.
func inBubble(t *testing.T, f func(t *testing.T, masters []*redlocktest.Master, open opener)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		masters := redlocktest.StartVirtual(t, 3)
		f(t, masters, func(opts ...redlock.Option) *redlock.Locker {
			l, err := redlock.Open(redlocktest.URLs(masters), opts...)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, l.Close()) })
			return l
		})
	})
}

type opener func(opts ...redlock.Option) *redlock.Locker
