package doctor_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/doctor"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// rights are those of docs/masters.md, with all names.
const rights = "on >secret ~* &* -@all +set +get +del +pexpire +pttl +type +zadd +zrem +zrange +zrangebyscore " +
	"+zremrangebyscore +zscore +pexpireat +time +eval +evalsha +publish +subscribe +info"

// user gives a server a user, and returns the URL for it.
func user(t *testing.T, s *redisproc.Server, name, rights string) string {
	t.Helper()
	args := []any{"acl", "setuser", name}
	for _, r := range strings.Fields(rights) {
		args = append(args, r)
	}
	require.NoError(t, connect(t, s).Do(t.Context(), args...).Err())
	return "redis://" + name + ":secret@" + s.Addr()
}

// A script calls some commands only if time has passed, so each command is tried by itself.
func TestEveryCommandOfTheScriptsIsTried(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../internal/kind/lua/*.lua")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, call := range regexp.MustCompile(`call\('([A-Z]+)'`).FindAllStringSubmatch(string(text), -1) {
			if call[1] != "PUBLISH" && call[1] != "GETRANGE" { // the scripts do without
				assert.Contains(t, doctor.LockCommands(), strings.ToLower(call[1]), file)
			}
		}
	}
}

// Each right that is missing is found, and nothing else is said to be missing.
func TestEveryMissingRight(t *testing.T) {
	t.Parallel()
	const title = "a right is missing"
	server := redisproc.ForTest(t, 1)[0]
	assert.Empty(t, titled(examine(t, []string{user(t, server, "app", rights)}), title))
	for _, command := range doctor.LockCommands() {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			name := "without-" + command
			report := examine(t, []string{user(t, server, name, rights+" -"+command)})
			found := titled(report, title)
			require.Len(t, found, 1, "%v", report)
			assert.Equal(t, doctor.Danger, found[0].Severity)
			assert.True(t, strings.HasPrefix(found[0].Why, command+": NOPERM"), found[0].Why)
			assert.Equal(t, []string{"ACL SETUSER " + name + " +" + command}, found[0].Commands)
			assert.Contains(t, found[0].Fix, "; then ACL SAVE, or CONFIG REWRITE without an aclfile")
			assert.Empty(t, titled(report, "a command does not exist"))
		})
	}
}

// What is missing, and what to type.
func TestRightsAndTheirFixes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "users.acl")
	require.NoError(t, os.WriteFile(file, []byte("user default on nopass ~* &* +@all\n"), 0o600))
	for name, c := range map[string]struct {
		args       []string
		rights     string
		title, why string
		fix        string
		commands   []string
	}{
		"several rights": {
			rights: rights + " -zscore -pexpire", title: "a right is missing", why: "pexpire, zscore: NOPERM",
			commands: []string{"ACL SETUSER app +pexpire +zscore"},
		},
		"a user who may read the settings": {
			rights: rights + " -type +config|get", title: "a right is missing",
			commands: []string{"ACL SETUSER app +type", "CONFIG REWRITE"},
		},
		"a server with an ACL file": {
			args: []string{"--aclfile", file}, rights: rights + " -type +config|get", title: "a right is missing",
			commands: []string{"ACL SETUSER app +type", "ACL SAVE"},
		},
		"keys": {
			rights: strings.Replace(rights, "~*", "~orders:*", 1), title: "the right to a key is missing",
			why: "NOPERM this user has no permissions to access", commands: []string{"ACL SETUSER app ~redlock:*"},
		},
		"keys that may only be read": {
			rights: strings.Replace(rights, "~*", "%R~*", 1), title: "the right to a key is missing",
			commands: []string{"ACL SETUSER app ~redlock:*"},
		},
		"no key but ours": {
			rights: strings.Replace(rights, "~*", "~redlock:*", 1) + " +acl|getuser", title: "the right to a key is missing",
			why: "only names that begin with redlock: can be locked", commands: []string{"ACL SETUSER app ~*"},
		},
		"perhaps no key but ours": {
			rights: strings.Replace(rights, "~*", "~redlock:*", 1), title: "the right to names is unknown",
			why: "NOPERM this user has no permissions to access", commands: []string{"ACL SETUSER app ~*"},
		},
		"the keys of some names": {
			rights: strings.Replace(rights, "~*", "~redlock:* ~orders:*", 1) + " +acl|getuser",
			title:  "the right to names is unknown",
		},
		"the keys of a selector": {
			rights: strings.Replace(rights, "~*", "~redlock:*", 1) + " +acl|getuser (~x:* +@all)",
			title:  "the right to names is unknown",
		},
		"no channel": {
			rights: strings.Replace(rights, "&*", "resetchannels", 1) + " +acl|getuser", title: "waiters are not woken",
			why: "publish, subscribe: NOPERM", commands: []string{"ACL SETUSER app &redlock:*"},
		},
		"another program's channel": {
			rights:   strings.Replace(rights, "&*", "resetchannels &news:*", 1) + " +acl|getuser",
			title:    "waiters are not woken",
			commands: []string{"ACL SETUSER app &redlock:*"},
		},
		"perhaps no channel": {
			rights: strings.Replace(rights, "&*", "resetchannels", 1), title: "the right to channels is unknown",
			why: "publish, subscribe: NOPERM", commands: []string{"ACL SETUSER app &redlock:*"},
		},
		"the channels of some names": {
			rights: strings.Replace(rights, "&*", "resetchannels &redlock:orders:*", 1) + " +acl|getuser",
			title:  "the right to channels is unknown",
		},
		"no right to publish": {
			rights: rights + " -publish", title: "waiters are not woken", why: "publish: NOPERM",
			commands: []string{"ACL SETUSER app +publish"},
		},
		"renamed commands": {
			args:   []string{"--rename-command", "PEXPIRE", "", "--rename-command", "ZREMRANGEBYSCORE", "other"},
			rights: rights, title: "a command does not exist", why: "pexpire, zremrangebyscore: ERR unknown command",
			fix:      "remove the rename-command of PEXPIRE, ZREMRANGEBYSCORE from its redis.conf and restart it",
			commands: []string{},
		},
		"a renamed PUBLISH": {
			args: []string{"--rename-command", "PUBLISH", ""}, rights: rights, title: "waiters are not woken",
			why: "publish: ERR unknown command", fix: "remove the rename-command of PUBLISH", commands: []string{},
		},
		"a renamed CONFIG": {
			args: []string{"--rename-command", "CONFIG", ""}, rights: "on >secret ~* &* +@all", title: "not examined",
			why: "CONFIG GET maxmemory: ERR unknown command", fix: "nothing, if a managed service hides", commands: []string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redisproc.ForTest(t, 1, c.args...)[0]
			report := examine(t, []string{user(t, server, "app", c.rights)})
			found := titled(report, c.title)
			require.Len(t, found, 1, "%v", report)
			assert.Contains(t, found[0].Why, c.why)
			assert.Contains(t, found[0].Fix, c.fix)
			if c.commands != nil {
				assert.Equal(t, c.commands, found[0].Commands)
			}
			for _, other := range []string{
				"a right is missing", "a command does not exist", "the right to a key is missing", "refuses locks",
				"waiters are not woken", "the right to channels is unknown", "the right to names is unknown",
			} {
				assert.True(t, other == c.title || len(titled(report, other)) == 0, "%s: %v", other, report)
			}
		})
	}
}

// Each reason for which a master refuses locks has a fix of its own.
func TestWhyLocksAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args     []string
		prepare  func(*testing.T, *redisproc.Server, *redis.Client)
		why, fix string
		commands []string
	}{
		"writes are paused": {
			prepare: command("client", "pause", 60_000, "write"), why: "no answer in time",
			commands: []string{"CLIENT UNPAUSE", "SLOWLOG GET"},
		},
		"no snapshot": {
			prepare: func(t *testing.T, s *redisproc.Server, c *redis.Client) {
				t.Helper()
				require.NoError(t, os.Mkdir(filepath.Join(s.Dir(), "dump.rdb"), 0o755))
				require.NoError(t, c.ConfigSet(t.Context(), "save", "3600 1").Err())
				require.NoError(t, c.BgSave(t.Context()).Err())
				await(t, c, "rdb_last_bgsave_status:err")
			},
			why: "MISCONF", commands: []string{`CONFIG SET save ""`, "CONFIG REWRITE"},
		},
		"no replicas": {
			args: []string{"--min-replicas-to-write", "1"}, why: "NOREPLICAS",
			commands: []string{"CONFIG SET min-replicas-to-write 0", "CONFIG REWRITE"},
		},
		"a replica": {
			args: []string{"--replicaof", "127.0.0.1", "1"}, why: "READONLY",
			commands: []string{"REPLICAOF NO ONE", "CONFIG REWRITE"},
		},
		"no memory":  {args: []string{"--maxmemory", "1"}, why: "OOM", fix: "redis-cli --bigkeys"},
		"no cluster": {args: []string{"--cluster-enabled", "yes"}, why: "CLUSTERDOWN", fix: "cluster-enabled no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redisproc.ForTest(t, 1, c.args...)[0]
			if c.prepare != nil {
				c.prepare(t, server, connect(t, server))
			}
			report := examine(t, []string{server.URL()})
			found := titled(report, "refuses locks")
			require.Len(t, found, 1, "%v", report)
			assert.Contains(t, found[0].Why, c.why)
			assert.Contains(t, found[0].Fix, c.fix)
			if c.commands != nil {
				assert.Equal(t, c.commands, found[0].Commands)
			}
		})
	}
}
