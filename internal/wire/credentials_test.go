package wire_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// vault has the credentials that the node is given.
type vault struct {
	user     string
	password atomic.Value // a string
	asked    atomic.Int64
}

func newVault(user, password string) *vault {
	v := &vault{user: user}
	v.password.Store(password)
	return v
}

func (v *vault) get(context.Context) (user, password string, err error) {
	v.asked.Add(1)
	return v.user, v.password.Load().(string), nil
}

// The connections for requests, spare connections and subscriptions all authenticate.
func TestEveryConnectionAsksForCredentials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		w.Master(0).RequirePassword("one")
		v := newVault("", "one")
		r := newRig(t, w, w.Master(0).URL(), node.WithDialer(w.Dial), node.WithCredentials(v.get))
		r.warm()
		assert.EqualValues(t, 1+comparing, v.asked.Load())
		l := r.subscribe(channel)
		assert.EqualValues(t, 2+comparing, v.asked.Load())

		r.hangUpAt("poison") // such a release gets a connection of its own
		r.ask(release("poison", "me"), expiresAfter(3*time.Second))
		time.Sleep(5 * time.Second)
		require.Equal(t, wire.Granted, r.ask(acquire("a", "me")).result().Verdict)
		assert.Greater(t, v.asked.Load(), int64(3))

		r.m.Crash()
		require.NotEqual(t, wire.Granted, r.ask(acquire("b", "me")).result().Verdict)
		v.password.Store("two")
		r.m.RequirePassword("two")
		r.m.Restart()
		r.eventually(time.Minute, "a vote", func() bool { return r.ask(acquire("c", "me")).result().Verdict == wire.Granted })
		r.eventually(time.Minute, "a new subscription", func() bool { return r.m.Subscribers(channel) == 1 })
		l.stop()
		assert.LessOrEqual(t, int(v.asked.Load()), r.m.Dials(), "refused connections need no credentials")
	})
}

// A real server whose user gets another password, and whose connections are closed, has the new password soon.
func TestARotatedPasswordOfARealServer(t *testing.T) {
	t.Parallel()
	s := redisproc.ForTest(t, 1)[0]
	admin := client(t, s)
	setUser := func(rules ...any) {
		user := []any{"ACL", "SETUSER", "locks", "on", "~*", "&*", "+@all"}
		require.NoError(t, admin.Do(t.Context(), append(user, rules...)...).Err())
	}
	setUser(">one")
	v := newVault("locks", "one")
	r := newRealRig(t, s.URL(), node.WithCredentials(v.get))
	granted := func() bool { return r.acquireNew().Verdict == wire.Granted }
	require.True(t, granted())
	l := r.listen(channel)
	require.Eventually(t, func() bool { return l.notified.Load() == 1 }, patient, time.Millisecond)

	setUser("resetpass", ">two")
	require.True(t, granted(), "an open connection stays authenticated")
	require.NoError(t, admin.Do(t.Context(), "CLIENT", "KILL", "USER", "locks").Err())
	var refused error
	require.Eventually(t, func() bool {
		refused = r.ask(acquire("a", "me"), within(patient)).result().Err
		return node.Permanent(refused)
	}, patient, time.Millisecond, "a new one is not")
	require.ErrorContains(t, refused, "WRONGPASS")
	assert.NotContains(t, refused.Error(), "one")

	v.password.Store("two")
	require.Eventually(t, granted, patient, time.Millisecond)
	require.Eventually(t, func() bool { return l.notified.Load() == 2 }, patient, time.Millisecond)
	list, err := admin.ClientList(t.Context()).Result()
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(list, " user=locks"), list)
	l.stop()
}
