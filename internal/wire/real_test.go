package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// patient is a deadline that only a hang exceeds, also on a busy machine.
const patient = 10 * time.Second

// realRig is a node for a redis-server, and a client to look into it.
func realRig(t *testing.T, args ...string) (*rig, *redisproc.Server, *redis.Client) {
	t.Helper()
	s := redisproc.ForTest(t, 1, args...)[0]
	return newRealRig(t, s.URL()), s, client(t, s)
}

// newRealRig is newRig outside a bubble.
func newRealRig(t *testing.T, url string, opts ...node.Option) *rig {
	t.Helper()
	r := newRig(t, nil, url, opts...)
	r.slack = patient
	return r
}

// newWrappedRig is newRealRig over a client, which ends with the test.
func newWrappedRig(t *testing.T, c redis.UniversalClient) *rig {
	t.Helper()
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	n, err := node.Wrap(c)
	require.NoError(t, err)
	r := bind(t, nil, n)
	r.slack = patient
	return r
}

// acquireNew acquires a name that is free.
func (r *rig) acquireNew() wire.Vote {
	return r.ask(acquire(fmt.Sprint(time.Now().UnixNano()), "me"), within(patient)).result()
}

// client returns a client of a server. It ends with the test.
func client(t *testing.T, s *redisproc.Server) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

func tcp(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

// The server executes the requests in its buffer when it thaws, even if their connection has ended meanwhile.
func TestNoGhostRemainsOnAFrozenServer(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]bool{
		"the connection remains": false, "the connection ends": true,
	}, func(t *testing.T, ends bool) {
		s := redisproc.ForTest(t, 1)[0]
		conns := &firstHole{dial: tcp}
		r := newRealRig(t, s.URL(), node.WithDialer(conns.Dial))
		requireGranted(t, r.ask(acquire("warm", "me"), within(patient)))
		require.NoError(t, s.Freeze())
		require.Equal(t, wire.Unknown, r.ask(acquire("a", "me")).result().Verdict)
		r.ask(release("a", "me"), durably).result()
		if ends {
			require.NoError(t, conns.get().Close())
		}
		time.Sleep(500 * time.Millisecond)
		require.NoError(t, s.Thaw())
		assert.Zero(t, r.node.Close(time.Now().Add(patient)), "the release was confirmed, and repeated if necessary")
		assert.Equal(t, []string{"warm"}, client(t, s).Keys(t.Context(), "*").Val())
	})
}

// A server that loads its dataset answers INFO, reports the role master, and refuses everything else.
func TestALoadingServerIsReported(t *testing.T) {
	t.Parallel()
	r, s, c := realRig(t, "--key-load-delay", "500", "--loading-process-events-interval-bytes", "1024")
	status := func() wire.Status {
		v := r.ask(wire.StatusOp(), within(patient)).result()
		require.NoError(t, v.Err)
		return v.Data.(wire.Status)
	}
	assert.False(t, status().Loading)
	fill := c.Pipeline()
	for i := range 4000 { // two seconds' worth, at half a millisecond each
		fill.Set(t.Context(), token(i), strings.Repeat("x", 100), 0)
	}
	_, err := fill.Exec(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.Save(t.Context()).Err())
	require.NoError(t, s.Kill())
	v := r.ask(acquire("a", "me"), within(patient)).result()
	require.NotEqual(t, wire.Granted, v.Verdict)
	require.NoError(t, s.Start(t.Context()))

	require.Eventually(t, func() bool {
		v = r.ask(acquire("a", "me"), within(patient)).result()
		return !v.Unsent
	}, patient, time.Millisecond)
	require.ErrorContains(t, v.Err, "LOADING", "the control: it is")
	now := status()
	assert.True(t, now.Loading)
	assert.Equal(t, "master", now.Role)
	require.Eventually(t, func() bool { return !status().Loading }, time.Minute, 10*time.Millisecond)
	assert.Equal(t, wire.Granted, r.ask(acquire("a", "me"), within(patient)).result().Verdict)
}

func TestACLs(t *testing.T) {
	t.Parallel()
	_, s, c := realRig(t)
	for name, u := range map[string]struct {
		rights    string
		path      string       // of the URL
		acquire   wire.Verdict // without a window
		guarded   wire.Verdict // with one
		permanent bool
	}{
		"everything allowed":   {"+@all", "", wire.Granted, wire.Granted, false},
		"only what is needed":  {"+set +evalsha +eval +get +del +pexpire +info", "", wire.Granted, wire.Granted, false},
		"INFO forbidden":       {"+@all -info", "", wire.Granted, wire.Unknown, true},
		"SET forbidden":        {"+@all -set", "", wire.Failed, wire.Failed, true},
		"SELECT forbidden":     {"+@all -select", "/1", wire.Failed, wire.Failed, true},
		"the key is forbidden": {"resetkeys ~other +@all", "", wire.Failed, wire.Failed, true},
	} {
		t.Run(name, func(t *testing.T) {
			user := fmt.Sprintf("user%d", time.Now().UnixNano())
			args := []any{"ACL", "SETUSER", user, "on", ">hunter2", "~*"}
			for _, a := range strings.Fields(u.rights) {
				args = append(args, a)
			}
			require.NoError(t, c.Do(t.Context(), args...).Err())
			r := newRig(t, nil, "redis://"+user+":hunter2@"+s.Addr()+u.path)
			v := r.ask(acquire(user, "me"), within(patient)).result()
			assert.Equal(t, u.acquire, v.Verdict, "%v", v.Err)
			v = r.ask(acquire(user+"/guarded", "me"), within(patient), window(time.Hour)).result()
			if u.guarded == wire.Granted {
				require.ErrorAs(t, v.Err, new(*node.RestartError), "the server has just been started")
			} else {
				assert.Equal(t, u.guarded, v.Verdict)
				assert.Equal(t, u.permanent, node.Permanent(v.Err), "%v", v.Err)
				var identity *node.IdentityError
				assert.Equal(t, u.guarded == wire.Unknown, errors.As(v.Err, &identity), "INFO is refused: %v", v.Err)
			}
			if v.Err != nil {
				assert.NotContains(t, v.Err.Error(), "hunter2")
			}
		})
	}
}

func TestAFullServerFails(t *testing.T) {
	t.Parallel()
	r, _, c := realRig(t)
	require.Equal(t, wire.Granted, r.ask(acquire("a", "me"), within(patient)).result().Verdict)
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "1").Err())
	v := r.ask(acquire("b", "me"), within(patient)).result()
	assert.Equal(t, wire.Failed, v.Verdict)
	require.ErrorContains(t, v.Err, "OOM")
	assert.False(t, node.Permanent(v.Err))
	v = r.ask(release("a", "me"), durably, within(patient)).result()
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "0").Err())
	assert.Zero(t, r.node.Close(time.Now().Add(patient)))
	assert.Empty(t, c.Keys(t.Context(), "*").Val(), "the release was repeated: %v", v)
}

// For the race detector: Close ends a connection that the driver is about to drop.
func TestCloseUnderTraffic(t *testing.T) {
	t.Parallel()
	s := redisproc.ForTest(t, 1)[0]
	for range 50 {
		r := newRealRig(t, s.URL())
		var callers sync.WaitGroup
		for i := range 4 {
			callers.Go(func() {
				for v := (wire.Vote{}); !errors.Is(v.Err, node.ErrClosed); {
					v = r.ask(acquire(token(i), "me"), within(patient)).result()
				}
			})
		}
		r.ask(acquire("a", "me"), within(patient)).result()
		r.node.Close(time.Now())
		callers.Wait()
		require.NoError(t, r.group.Wait())
	}
}
