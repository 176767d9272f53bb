package link_test

import (
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
		assert.NoError(t, seen(t, m).Trusted(0, time.Now()), "without a restart guard")
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
				server := seen(t, m)
				for _, window := range []time.Duration{0, guarded} {
					err := server.Trusted(window, time.Now())
					require.ErrorAs(t, err, new(*node.IdentityError))
					assert.Contains(t, err.Error(), "WithoutRestartGuard")
					assert.True(t, node.Permanent(err))
				}
			})
		})
	}
}

// Only a reply that refuses INFO leaves a server without identity. Another refusal ends the handshake, mostly for a
// moment.
func TestAServerThatRefusesTheHandshake(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		command, reply string // command "": every one
		permanent      bool
	}{
		// A proxy that does not reach its server for the moment refuses nothing for good.
		{"INFO", "ERR Connection refused", false},
		{"INFO", "ERR server connection close", false},
		{"INFO", "ERR handle response, backend conn reset", false},
		{"INFO", "ERR operation not permitted", false},
		{"", "LOADING Redis is loading the dataset in memory", false},
		{"", "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", false},
		{"", "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", false},
		{"", "ERR max number of clients reached", false},
		// A user who may not SELECT the database gets no connection, whether INFO is allowed or not.
		{"SELECT", "NOPERM this user has no permissions to run the 'select' command", true},
	} {
		t.Run(tt.reply, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *simnet.Master, m *link.Master) {
				if tt.command == "" {
					s.Reply(tt.reply)
				} else {
					s.Reply(tt.reply, tt.command)
				}
				err := refused(t, m)
				require.ErrorContains(t, err, tt.reply)
				assert.Equal(t, tt.permanent, node.Permanent(err), "only an operator can fix it")
				assert.NotErrorAs(t, err, new(*node.IdentityError))
				s.Recover()
				assert.NoError(t, seen(t, m).Trusted(guarded, time.Now()))
			})
		})
	}
}

func TestTheUptimeOfAServer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "7": 7 * time.Second, "-7": 0, "3153600000": 3153600000 * time.Second, "3153600001": -1, "": -1, "x": -1,
	} {
		up, err := link.Uptime(map[string]string{"uptime_in_seconds": text})
		assert.Equal(t, want < 0, err != nil, "%q", text)
		assert.Equal(t, max(0, want), up, "%q", text)
	}
}
