package wire_test

import (
	"context"
	"net"
	"strings"
	"sync"
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

// vault has the password that the node is given.
type vault struct {
	mu       sync.Mutex
	password string
	err      error
	asked    int
}

func (v *vault) get(context.Context) (user, password string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked++
	return "", v.password, v.err
}

func (v *vault) set(password string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.password, v.err = password, err
}

func (v *vault) timesAsked() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.asked
}

// inBubbleWith runs f with a node of a master that requires a password, and with the number of its connections.
func inBubbleWith(t *testing.T, v *vault, f func(t *testing.T, r *rig, dialed *atomic.Int64)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		w.Master(0).RequirePassword("one")
		var dialed atomic.Int64
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			dialed.Add(1)
			return w.Dial(ctx, network, addr)
		}
		f(t, newRig(t, w, w.Master(0).URL(), node.WithDialer(dial), node.WithCredentials(v.get)), &dialed)
	})
}

// The connections for requests, spare connections and subscriptions all authenticate.
func TestEveryConnectionAsksForCredentials(t *testing.T) {
	t.Parallel()
	v := &vault{password: "one"}
	inBubbleWith(t, v, func(t *testing.T, r *rig, dialed *atomic.Int64) {
		r.warm()
		assert.Equal(t, 1+comparing, v.timesAsked())
		l := r.listen(channel)
		r.eventually(time.Second, "the subscription begins", func() bool { return l.notified.Load() == 1 })
		assert.Equal(t, 2+comparing, v.timesAsked())

		r.hangUpAt("poison") // such a release gets a connection of its own
		r.ask(release("poison", "me"), expiresAfter(3*time.Second))
		time.Sleep(5 * time.Second)
		require.Equal(t, wire.Granted, r.ask(acquire("a", "me")).result().Verdict)
		assert.Greater(t, v.timesAsked(), 3)

		r.m.Crash()
		require.NotEqual(t, wire.Granted, r.ask(acquire("b", "me")).result().Verdict)
		v.set("two", nil)
		r.m.RequirePassword("two")
		r.m.Start()
		r.eventually(time.Minute, "a vote", func() bool { return r.ask(acquire("c", "me")).result().Verdict == wire.Granted })
		r.eventually(time.Minute, "a new subscription", func() bool { return r.m.Subscribers(channel) == 1 })
		l.stop()
		assert.LessOrEqual(t, int64(v.timesAsked()), dialed.Load(), "refused connections need no credentials")
	})
}

// A real server whose user gets another password, and whose connections are closed, has the new password soon.
func TestARotatedPasswordOfARealServer(t *testing.T) {
	t.Parallel()
	s := redisproc.ForTest(t, 1)[0]
	admin := client(t, s)
	setUser := func(rules ...string) {
		user := []any{"ACL", "SETUSER", "locks", "on", "~*", "&*", "+@all"}
		require.NoError(t, admin.Do(t.Context(), append(user, toAny(rules)...)...).Err())
	}
	setUser(">one")
	v := &vault{password: "one"}
	r := newRealRig(t, s.URL(), node.WithCredentials(func(ctx context.Context) (user, password string, err error) {
		_, password, err = v.get(ctx)
		return "locks", password, err
	}))
	names := 0
	granted := func() bool {
		names++
		return r.ask(acquire(token(names), "me"), within(patient)).result().Verdict == wire.Granted
	}
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

	v.set("two", nil)
	require.Eventually(t, granted, patient, time.Millisecond)
	require.Eventually(t, func() bool { return l.notified.Load() == 2 }, patient, time.Millisecond)
	list, err := admin.ClientList(t.Context()).Result()
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(list, " user=locks"), list)
	l.stop()
}

func toAny(texts []string) (all []any) {
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}
