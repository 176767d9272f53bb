package link_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/node"
)

// inBubble runs f in a bubble with a simulated master, and the connections to it.
func inBubble(t *testing.T, f func(t *testing.T, s *simnet.Master, m *link.Master)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		f(t, w.Master(0), opened(t, w.Master(0).URL()+"/3", node.WithDialer(w.Dial)))
	})
}

// seen returns the server that a new connection finds.
func seen(t *testing.T, m *link.Master) *link.Server {
	t.Helper()
	l := dial(t, m)
	defer l.Close()
	return l.Server()
}

// assertYoung asserts when a server may vote.
func assertYoung(t *testing.T, s *link.Server, left time.Duration) {
	t.Helper()
	var young *node.RestartError
	require.ErrorAs(t, s.Trusted(guarded, time.Now()), &young)
	assert.Equal(t, left, young.Left)
}

// For example a promoted replica: another process, with a long uptime, which does not know the locks.
func TestAReplacedServerMayNotVoteForAWindow(t *testing.T) {
	inBubble(t, func(t *testing.T, s *simnet.Master, m *link.Master) {
		require.NoError(t, seen(t, m).Trusted(guarded, time.Now()))
		s.Info("uptime_in_seconds", "86400")
		s.Restart()
		time.Sleep(time.Hour) // without a request
		assertYoung(t, seen(t, m), guarded)
		time.Sleep(guarded)
		assertYoung(t, seen(t, m), 0)
		time.Sleep(time.Nanosecond)
		assert.NoError(t, seen(t, m).Trusted(guarded, time.Now()))
	})
}

// The server's wall clock was stepped, so its uptime jumps. The shorter of two uptimes counts.
func TestTheShorterOfTwoUptimesCounts(t *testing.T) {
	inBubble(t, func(t *testing.T, s *simnet.Master, m *link.Master) {
		s.Info("uptime_in_seconds", "3")
		assertYoung(t, seen(t, m), 8*time.Second)
		s.Info("uptime_in_seconds", "86400")
		assertYoung(t, seen(t, m), 8*time.Second)
		s.Info("uptime_in_seconds", "1")
		assertYoung(t, seen(t, m), 10*time.Second)
	})
}

// If the wall clock is set back, the uptime shrinks. The time since the process first answered still counts.
func TestAProcessIsAtLeastAsOldAsItsFirstAnswer(t *testing.T) {
	t.Parallel()
	for name, uptime := range map[string]string{"a little": "1", "to before its start": "-86400"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *simnet.Master, m *link.Master) {
				seen(t, m)
				time.Sleep(4 * time.Second)
				s.Info("uptime_in_seconds", uptime)
				assertYoung(t, seen(t, m), guarded-4*time.Second)
				time.Sleep(guarded - 4*time.Second + time.Nanosecond)
				assert.NoError(t, seen(t, m).Trusted(guarded, time.Now()))

				s.Info("uptime_in_seconds", "86400")
				s.Restart()
				seen(t, m)
				s.Info("uptime_in_seconds", uptime)
				time.Sleep(time.Second)
				assertYoung(t, seen(t, m), guarded-time.Second)
			})
		})
	}
}

func TestAServerWithoutIdentity(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(s *simnet.Master){
		"forbidden": func(s *simnet.Master) {
			s.Reply("NOPERM this user has no permissions to run the 'info' command", "INFO")
		},
		"unknown": func(s *simnet.Master) {
			s.Reply("ERR unknown command 'INFO', with args beginning with: 'server'", "INFO")
		},
		"unsupported": func(s *simnet.Master) { s.Reply("ERR unsupported command", "INFO") },
		"unavailable": func(s *simnet.Master) { s.Reply("ERR Command is not available: 'INFO'", "INFO") },
		"not allowed": func(s *simnet.Master) { s.Reply("ERR command not allowed on this server", "INFO") },
		"no run_id":   func(s *simnet.Master) { s.Info("run_id", "") },
		"no uptime":   func(s *simnet.Master) { s.Info("uptime_in_seconds", "") },
		"odd uptime":  func(s *simnet.Master) { s.Info("uptime_in_seconds", "long") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *simnet.Master, m *link.Master) {
				refuse(s)
				err := seen(t, m).Trusted(guarded, time.Now())
				require.ErrorAs(t, err, new(*node.IdentityError))
				assert.Contains(t, err.Error(), "WithoutRestartGuard")
				assert.True(t, node.Permanent(err))
			})
		})
	}
}

// A proxy that does not reach its server for the moment refuses nothing for good.
func TestAProxyThatDoesNotReachItsServer(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{
		"ERR Connection refused",
		"ERR server connection close",
		"ERR handle response, backend conn reset",
		"ERR operation not permitted",
	} {
		t.Run(reply, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *simnet.Master, m *link.Master) {
				s.Reply(reply, "INFO")
				err := refused(t, m)
				require.ErrorContains(t, err, reply)
				assert.False(t, node.Permanent(err))
				s.Recover()
				assert.NoError(t, seen(t, m).Trusted(guarded, time.Now()))
			})
		})
	}
}

// An INFO that fails for another reason may be allowed.
func TestAnIdentityThatIsTemporarilyUnknownIsNoPermanentFailure(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{
		"LOADING Redis is loading the dataset in memory",
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
		"ERR max number of clients reached",
	} {
		t.Run(strings.Fields(reply)[0]+" "+strings.Fields(reply)[1], func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *simnet.Master, m *link.Master) {
				s.Reply(reply)
				err := refused(t, m)
				require.ErrorContains(t, err, reply)
				assert.False(t, node.Permanent(err))
				s.Recover()
				assert.NoError(t, seen(t, m).Trusted(guarded, time.Now()))
			})
		})
	}
}

// A refusal in the reply to the first command may belong to the handshake: a user who may not SELECT the database gets
// no connection, whether INFO is allowed or not.
func TestARefusalOfTheHandshakeIsNoRefusalOfINFO(t *testing.T) {
	inBubble(t, func(t *testing.T, s *simnet.Master, m *link.Master) {
		s.Reply("NOPERM this user has no permissions to run the 'select' command", "SELECT")
		err := refused(t, m)
		require.ErrorContains(t, err, "'select'")
		assert.True(t, node.Permanent(err), "only an operator can fix it")
		assert.NotErrorAs(t, err, new(*node.IdentityError))
		s.Recover()
		assert.NoError(t, seen(t, m).Trusted(guarded, time.Now()))
	})
}
