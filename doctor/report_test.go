package doctor_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/doctor"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/redlocktest"
)

// What is wrong on several masters is one finding, if the fix is the same.
func TestFindingsAreGrouped(t *testing.T) {
	t.Parallel()
	var all []doctor.Seen
	for i := range 9 {
		all = append(all, doctor.Seen{
			Name: fmt.Sprintf("redis-%d.masters.example.com:6379", i),
			Info: fmt.Sprintf("%s\nrun_id:%d\nconnected_slaves:%d", sound, i, i),
		})
	}
	report := doctor.Judge(0, all...)
	require.Equal(t, []string{"has replicas"}, titles(report))
	f := report.Findings[0]
	assert.Equal(t, doctor.HasReplicas, f.ID)
	assert.Len(t, f.Nodes, 8)
	assert.Equal(t, strings.Join(f.Nodes, ", "), f.Node)
	assert.Contains(t, f.Why, "redis-1.masters.example.com:6379: connected_slaves is 1. ")
	assert.Empty(t, f.Commands, "they are for each of Nodes")
	assert.NotContains(t, f.Fix, "`")
	assert.Equal(t, doctor.Summary{Masters: 9, Examined: 9, Warnings: 1}, report.Summary)
	fits(t, f)
	assert.Contains(t, f.String(), " more: has replicas")

	servers := redisproc.ForTest(t, 3)
	report = examine(t, []string{
		user(t, servers[0], "app", rights+" -pexpire"), user(t, servers[1], "app", rights+" -zadd"), servers[2].URL(),
	})
	assert.Len(t, titled(report, "a right is missing"), 2, "the fixes differ")
}

// The reason of a finding about several masters names one of them, if it is not the same for all.
func TestTheReasonOfAGroupNamesItsMaster(t *testing.T) {
	t.Parallel()
	calls := func(name string, n int) doctor.Seen {
		return doctor.Seen{Name: name, Info: fmt.Sprintf("cmdstat_keys:calls=%d,usec=1", n)}
	}
	for want, masters := range map[string][]doctor.Seen{
		"KEYS: 3 times. ":      {calls("a:1", 3), calls("b:1", 3)},
		"a:1: KEYS: 3 times. ": {calls("a:1", 3), calls("b:1", 4)},
		"b:1: KEYS: 4 times. ": {calls("b:1", 4), calls("a:1", 3), calls("c:1", 3)},
	} {
		found := one(t, doctor.Judge(0, masters...), "KEYS is used")
		assert.Len(t, found.Nodes, len(masters))
		assert.True(t, strings.HasPrefix(found.Why, want), "%q, not %q", found.Why, want)
	}
}

// Every text fits on a terminal, whatever the server says.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 100) + strings.Repeat("x", 300) + "\x1b[2J\r\n"
	fits(t, doctor.Finding{Title: "short", Why: "why", Fix: "fix", Nodes: []string{strings.Repeat("n", 200), "b", "c"}})
	report := doctor.Judge(0, doctor.Seen{Name: "h:1", Info: sound + "role:" + long})
	require.Len(t, report.Findings, 1)
	fits(t, report.Findings[0])
	assert.NotContains(t, report.Findings[0].String(), "\x1b")
	assert.Contains(t, report.Findings[0].Why, "…")
}

// Each rule, one step before its threshold and at it.
func TestThresholds(t *testing.T) {
	t.Parallel()
	const disconnections, buffer = "client_output_buffer_limit_disconnections:", "CONFIG client-output-buffer-limit "
	for _, c := range []struct {
		id        doctor.ID
		severity  doctor.Severity
		field     string // of INFO, behind others; or a parameter, after "CONFIG"
		below, at string
	}{
		{doctor.EvictsLocks, doctor.Danger, "maxmemory:1\nmaxmemory_policy:", "noeviction", "allkeys-lfu"},
		{doctor.WouldEvictLocks, doctor.Warning, "maxmemory:0\nmaxmemory_policy:", "noeviction", "volatile-ttl"},
		{doctor.EvictedKeys, doctor.Warning, "evicted_keys:", "0", "1"},
		{doctor.AlmostFull, doctor.Warning, "maxmemory:1000\nused_memory:", "899", "900"},
		{doctor.AlmostNoConnections, doctor.Warning, "maxclients:1000\nconnected_clients:", "899", "900"},
		{doctor.AlmostNoConnections, doctor.Warning, "maxclients:20\nconnected_clients:", "10", "11"},
		{doctor.RejectedConnections, doctor.Warning, "rejected_connections:", "0", "1"},
		{doctor.DisconnectedClients, doctor.Warning, disconnections, "0", "1"},
		{doctor.ClosesIdle, doctor.Warning, "CONFIG timeout ", "0", "1"},
		{doctor.KeepsDead, doctor.Warning, "CONFIG tcp-keepalive ", "1", "0"},
		{doctor.SmallBuffer, doctor.Warning, buffer + "normal 0 0 0 pubsub 0 ", "1048576 60", "1048575 60"},
		{doctor.SmallBuffer, doctor.Warning, buffer + "pubsub ", "1048576 0 60", "1048575 0 60"},
		{doctor.HugePages, doctor.Warning, "CONFIG disable-thp ", "yes", "no"},
		{doctor.ForksSlowly, doctor.Warning, "latest_fork_usec:", "1000000", "1000001"},
		{doctor.SlowEventLoop, doctor.Warning, "instantaneous_eventloop_duration_usec:", "500000", "500001"},
		{doctor.WaitsForDisk, doctor.Warning, "aof_delayed_fsync:", "0", "1"},
		{doctor.AOFFails, doctor.Danger, "aof_last_write_status:", "ok", "err"},
		{doctor.SnapshotFailed, doctor.Warning, "rdb_last_bgsave_status:", "ok", "err"},
		{doctor.Loading, doctor.Warning, "loading:", "0", "1"},
		{doctor.NotAMaster, doctor.Danger, "role:", "master", "slave"},
		{doctor.Sentinel, doctor.Danger, "redis_mode:", "standalone", "sentinel"},
		{doctor.ClusterMode, doctor.Danger, "cluster_enabled:", "0", "1"},
		{doctor.HasReplicas, doctor.Warning, "connected_slaves:", "0", "1"},
		{doctor.FailingOver, doctor.Danger, "master_failover_state:", "no-failover", "waiting-for-sync"},
		{doctor.WasReplica, doctor.Warning, "second_repl_offset:", "-1", "0"},
		{doctor.TooOld, doctor.Danger, "redis_version:", "6.2.0", "6.1.9"},
		{doctor.Restarted, doctor.Warning, "uptime_in_seconds:", "1", "0"}, // window 10 s, span 10 s
		{doctor.RefusedWrites, doctor.Warning, "errorstat_OOM:count=", "0", "1"},
		{doctor.RefusedCommands, doctor.Note, "errorstat_NOPERM:count=", "0", "1"},
		{doctor.Flushed, doctor.Warning, "cmdstat_flushdb:calls=", "0", "1"},
		{doctor.UsesKeys, doctor.Warning, "cmdstat_keys:calls=", "0", "1"},
		{doctor.Reconfigured, doctor.Note, "cmdstat_config|set:calls=", "0", "1"},
		{doctor.ForDevelopment, doctor.Note, "server_name:", "redis", "redlock-dev"},
	} {
		see := func(value string) doctor.Report {
			s := doctor.Seen{Name: "h:1", Info: sound + c.field + value}
			if parameter, ok := strings.CutPrefix(c.field, "CONFIG "); ok {
				name, first, _ := strings.Cut(parameter, " ")
				s.Info, s.Config = sound, map[string]string{name: first + value}
			}
			return doctor.Judge(0, s)
		}
		assert.Empty(t, see(c.below).Findings, c.field)
		report := see(c.at)
		if assert.Len(t, report.Findings, 1, "%s%s: %v", c.field, c.at, report) {
			assert.Equal(t, c.id, report.Findings[0].ID)
			assert.Equal(t, c.severity, report.Findings[0].Severity)
			fits(t, report.Findings[0])
		}
	}
}

// Masters of redlock dev have one note, and no findings about a host and settings that nobody deploys.
func TestMastersForDevelopment(t *testing.T) {
	t.Parallel()
	report := examineFor(t, 10*span, redlocktest.URLs(redlocktest.Start(t, 5)))
	assert.ElementsMatch(t, []string{"is a master for development", "the drift of clocks is not examined"}, titles(report))
	assert.Len(t, one(t, report, "is a master for development").Nodes, 5)
}

// A replica of another master in the list, which accepts writes.
func TestAReplicaOfAnotherMaster(t *testing.T) {
	t.Parallel()
	server := redisproc.ForTest(t, 1)[0]
	c := connect(t, server)
	replica := replicate(t, server, c)
	require.NoError(t, connect(t, replica).ConfigSet(t.Context(), "replica-read-only", "no").Err())
	report := examine(t, []string{server.URL(), replica.URL(), redisproc.ForTest(t, 1)[0].URL()})
	found := one(t, report, "is not a master")
	assert.Equal(t, []string{replica.Addr()}, found.Nodes)
	assert.Contains(t, found.Why, "it accepts writes (replica-read-only no); it belongs to "+server.Addr())
	assert.Len(t, titled(report, "has replicas"), 1)
}

// sound is the INFO of a sound master.
const sound = "redis_version:7.2.4\nrun_id:1\nuptime_in_seconds:1000\nrole:master\n"

// Servers that cannot run here, and fields that Redis 7.0 does not have: by the text of their INFO. The fields of
// KeyDB, Dragonfly and Valkey are those of their sources and bug reports.
func TestOtherServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ info, title, why string }{
		{"role:active-replica\nmvcc_depth:0", "is an active replica", "its role is active-replica"},
		{"dragonfly_version:df-v1.21.2", "is Dragonfly or KeyDB", "it is Dragonfly"},
		{"mvcc_depth:0", "is Dragonfly or KeyDB", "it is KeyDB"},
		{"executable:/usr/bin/keydb-server", "is Dragonfly or KeyDB", "it is KeyDB"},
		{"server_name:valkey\nvalkey_version:8.1.1", "is Valkey", "it is Valkey 8.1.1"},
		{"instantaneous_eventloop_duration_usec:600000", "its event loop is slow", "one cycle takes 600ms"},
	} {
		assert.Contains(t, one(t, doctor.Judge(0, doctor.Seen{Name: "h:1", Info: sound + c.info}), c.title).Why, c.why)
	}
}

// A server that was started without a configuration file cannot rewrite it.
func TestAServerWithoutAConfigurationFile(t *testing.T) {
	t.Parallel()
	idle := sound + "maxmemory:100\nmaxmemory_policy:allkeys-lru\nconfig_file:"
	report := doctor.Judge(0, doctor.Seen{Name: "a", Info: idle + "/etc/redis.conf"}, doctor.Seen{Name: "b", Info: idle})
	found := titled(report, "evicts locks")
	require.Len(t, found, 2, report)
	assert.Equal(t, []string{"CONFIG SET maxmemory-policy noeviction", "CONFIG REWRITE"}, found[0].Commands)
	assert.Equal(t, []string{"CONFIG SET maxmemory-policy noeviction"}, found[1].Commands)
	assert.Contains(t, found[1].Fix, "; set it in the flags of the server, too")
}

// The fixes of a server that does not know CONFIG or ACL have no commands of these.
func TestAServerWithoutConfigAndACL(t *testing.T) {
	t.Parallel()
	idle := sound + "maxmemory:100\nmaxmemory_policy:allkeys-lru\nevicted_keys:1\ncmdstat_keys:calls=1,usec=1\n" +
		"errorstat_NOPERM:count=1\nconfig_file:"
	for file, where := range map[string]string{
		"/etc/redis.conf": "in redis.conf: ", "": "in its flags, or the settings of the service: ",
	} {
		report := doctor.Judge(0, doctor.Seen{
			Name: "a", Info: idle + file, Unknown: []string{"CONFIG GET maxmemory", "ACL WHOAMI"},
		})
		fixes := map[doctor.ID]string{}
		for _, f := range report.Findings {
			fits(t, f)
			assert.Empty(t, f.Commands, f.Title)
			fixes[f.ID] = f.Fix
		}
		const policy = "maxmemory-policy noeviction; restart it"
		assert.Equal(t, where+policy, fixes[doctor.EvictsLocks])
		assert.Equal(t, where+policy+"; a restart resets the count", fixes[doctor.EvictedKeys])
		assert.Equal(t, "use SCAN; forbid it: "+where+"user USER -keys; a restart resets the count", fixes[doctor.UsesKeys])
		assert.Contains(t, fixes[doctor.RefusedCommands], "; a restart resets the count")
	}
}

func TestANilOption(t *testing.T) {
	t.Parallel()
	_, err := doctor.Examine(t.Context(), nil, nil)
	require.EqualError(t, err, "doctor: a nil Option")
}
