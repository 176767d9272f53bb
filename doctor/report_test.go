package doctor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/doctor"
	"github.com/redlock-go/redlock/internal/freeport"
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
	report := judge(0, all...)
	require.Equal(t, []string{"has replicas"}, titles(report))
	f := report.Findings[0]
	assert.Equal(t, doctor.HasReplicas, f.ID)
	assert.Len(t, f.Nodes, 8)
	assert.Equal(t, strings.Join(f.Nodes, ", "), f.Node)
	assert.Contains(t, f.Why, "redis-1.masters.example.com:6379: connected_slaves is 1. ")
	assert.Equal(t, []string{"REPLICAOF NO ONE"}, f.Commands)
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
		found := titled(doctor.Judge(0, masters...), "KEYS is used")
		require.Len(t, found, 1)
		assert.Len(t, found[0].Nodes, len(masters))
		assert.True(t, strings.HasPrefix(found[0].Why, want), "%q, not %q", found[0].Why, want)
	}
}

// Every text fits on a terminal, whatever the server says.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 100) + strings.Repeat("x", 300) + "\x1b[2J\r\n"
	fits(t, doctor.Finding{Title: "short", Why: "why", Fix: "fix", Nodes: []string{strings.Repeat("n", 200), "b", "c"}})
	report := judge(0, doctor.Seen{Name: "h:1", Info: sound + "role:" + long})
	require.Len(t, report.Findings, 1)
	fits(t, report.Findings[0])
	assert.NotContains(t, report.Findings[0].String(), "\x1b")
	assert.Contains(t, report.Findings[0].Why, "…")
}

// Each rule, one step before its threshold and at it.
func TestThresholds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id        doctor.ID
		severity  doctor.Severity
		below, at string // INFO, or parameters after "CONFIG"
	}{
		{
			doctor.EvictsLocks, doctor.Danger,
			"maxmemory:1\nmaxmemory_policy:noeviction",
			"maxmemory:1\nmaxmemory_policy:allkeys-lfu",
		},
		{
			doctor.WouldEvictLocks, doctor.Warning,
			"maxmemory:0\nmaxmemory_policy:noeviction",
			"maxmemory:0\nmaxmemory_policy:volatile-ttl",
		},
		{doctor.EvictedKeys, doctor.Warning, "evicted_keys:0", "evicted_keys:1"},
		{doctor.AlmostFull, doctor.Warning, "used_memory:899\nmaxmemory:1000", "used_memory:900\nmaxmemory:1000"},
		{
			doctor.AlmostNoConnections, doctor.Warning,
			"connected_clients:899\nmaxclients:1000",
			"connected_clients:900\nmaxclients:1000",
		},
		{
			doctor.AlmostNoConnections, doctor.Warning,
			"connected_clients:10\nmaxclients:20",
			"connected_clients:11\nmaxclients:20",
		},
		{doctor.RejectedConnections, doctor.Warning, "rejected_connections:0", "rejected_connections:1"},
		{
			doctor.DisconnectedClients, doctor.Warning,
			"client_output_buffer_limit_disconnections:0",
			"client_output_buffer_limit_disconnections:1",
		},
		{doctor.ClosesIdle, doctor.Warning, "CONFIG timeout 0", "CONFIG timeout 1"},
		{doctor.KeepsDead, doctor.Warning, "CONFIG tcp-keepalive 1", "CONFIG tcp-keepalive 0"},
		{
			doctor.SmallBuffer, doctor.Warning,
			"CONFIG client-output-buffer-limit normal 0 0 0 pubsub 0 1048576 60",
			"CONFIG client-output-buffer-limit normal 0 0 0 pubsub 0 1048575 60",
		},
		{
			doctor.SmallBuffer, doctor.Warning,
			"CONFIG client-output-buffer-limit pubsub 1048576 0 60",
			"CONFIG client-output-buffer-limit pubsub 1048575 0 60",
		},
		{doctor.HugePages, doctor.Warning, "CONFIG disable-thp yes", "CONFIG disable-thp no"},
		{doctor.ForksSlowly, doctor.Warning, "latest_fork_usec:1000000", "latest_fork_usec:1000001"},
		{
			doctor.SlowEventLoop, doctor.Warning,
			"instantaneous_eventloop_duration_usec:500000",
			"instantaneous_eventloop_duration_usec:500001",
		},
		{doctor.WaitsForDisk, doctor.Warning, "aof_delayed_fsync:0", "aof_delayed_fsync:1"},
		{doctor.AOFFails, doctor.Danger, "aof_last_write_status:ok", "aof_last_write_status:err"},
		{doctor.SnapshotFailed, doctor.Warning, "rdb_last_bgsave_status:ok", "rdb_last_bgsave_status:err"},
		{doctor.Loading, doctor.Warning, "loading:0", "loading:1"},
		{doctor.NotAMaster, doctor.Danger, "role:master", "role:slave"},
		{doctor.Sentinel, doctor.Danger, "redis_mode:standalone", "redis_mode:sentinel"},
		{doctor.ClusterMode, doctor.Danger, "cluster_enabled:0", "cluster_enabled:1"},
		{doctor.HasReplicas, doctor.Warning, "connected_slaves:0", "connected_slaves:1"},
		{doctor.FailingOver, doctor.Danger, "master_failover_state:no-failover", "master_failover_state:waiting-for-sync"},
		{doctor.WasReplica, doctor.Warning, "second_repl_offset:-1", "second_repl_offset:0"},
		{doctor.TooOld, doctor.Danger, "redis_version:6.2.0", "redis_version:6.1.9"},
		{doctor.Restarted, doctor.Warning, "uptime_in_seconds:1", "uptime_in_seconds:0"}, // window 10 s, span 10 s
		{doctor.RefusedWrites, doctor.Warning, "errorstat_OOM:count=0", "errorstat_OOM:count=1"},
		{doctor.RefusedCommands, doctor.Note, "errorstat_NOPERM:count=0", "errorstat_NOPERM:count=1"},
		{doctor.Flushed, doctor.Warning, "cmdstat_flushdb:calls=0", "cmdstat_flushdb:calls=1"},
		{doctor.UsesKeys, doctor.Warning, "cmdstat_keys:calls=0", "cmdstat_keys:calls=1"},
		{doctor.Reconfigured, doctor.Note, "cmdstat_config|set:calls=0", "cmdstat_config|set:calls=1"},
		{doctor.ForDevelopment, doctor.Note, "server_name:redis", "server_name:redlock-dev"},
	} {
		see := func(text string) doctor.Report {
			s := doctor.Seen{Name: "h:1", Info: sound + text}
			if parameter, ok := strings.CutPrefix(text, "CONFIG "); ok {
				name, value, _ := strings.Cut(parameter, " ")
				s.Info, s.Config = sound, map[string]string{name: value}
			}
			return judge(0, s)
		}
		assert.Empty(t, see(c.below).Findings, c.below)
		report := see(c.at)
		if assert.Len(t, report.Findings, 1, "%s: %v", c.at, report) {
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
	assert.ElementsMatch(t, []string{"is a master for development", "the drift of clocks is not examined"}, titles(report),
		"%v", report)
	assert.Len(t, titled(report, "is a master for development")[0].Nodes, 5)
}

func TestTheURLOfASentinel(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	port, err := freeport.Reserve()
	require.NoError(t, err)
	t.Cleanup(port.Release)
	url := startSentinel(t, port.Number(), "")
	report := examine(t, []string{url})
	assert.ElementsMatch(t, []string{"is a Sentinel", "restarted a moment ago", "the drift of clocks is not examined"},
		titles(report), "%v", report)
}

// startSentinel starts a Sentinel with further lines of configuration, and returns its URL.
func startSentinel(t *testing.T, port int, lines string) string {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	require.NoError(t, os.WriteFile(conf, fmt.Appendf(nil, "port %d\nbind 127.0.0.1\n%s", port, lines), 0o600))
	sentinel := exec.Command(redisproc.Binary, conf, "--sentinel")
	require.NoError(t, sentinel.Start())
	t.Cleanup(func() {
		_ = sentinel.Process.Kill()
		_ = sentinel.Wait()
	})
	url := fmt.Sprintf("redis://127.0.0.1:%d", port)
	require.Eventually(t, func() bool {
		return exec.Command("redis-cli", "-u", url, "ping").Run() == nil
	}, patience, 50e6)
	return url
}

// One server that refuses further connections has accepted the first.
func TestConnectionsThatAreUsedUp(t *testing.T) {
	t.Parallel()
	server := redisproc.ForTest(t, 1, "--maxclients", "10")[0]
	occupy(t, server, 9)
	report := examine(t, []string{server.URL()})
	found := titled(report, "connections are used up")
	require.Len(t, found, 1, "%v", report)
	assert.Contains(t, found[0].Why, "max number of clients reached")
	assert.Equal(t, []string{"CONFIG SET maxclients 10000", "CONFIG REWRITE", "CLIENT LIST"}, found[0].Commands)
}

// A replica of another master in the list, which accepts writes.
func TestAReplicaOfAnotherMaster(t *testing.T) {
	t.Parallel()
	server := redisproc.ForTest(t, 1)[0]
	c := connect(t, server)
	replica := replicate(t, server, c)
	require.NoError(t, connect(t, replica).ConfigSet(t.Context(), "replica-read-only", "no").Err())
	report := examine(t, []string{server.URL(), replica.URL(), redisproc.ForTest(t, 1)[0].URL()})
	found := titled(report, "is not a master")
	require.Len(t, found, 1)
	assert.Equal(t, []string{replica.Addr()}, found[0].Nodes)
	assert.Contains(t, found[0].Why, "it accepts writes (replica-read-only no); it belongs to "+server.Addr())
	assert.Len(t, titled(report, "has replicas"), 1)
}
