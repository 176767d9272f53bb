package doctor_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/doctor"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/node"
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
			found := one(t, report, title)
			assert.True(t, strings.HasPrefix(found.Why, command+": NOPERM"), found.Why)
			assert.Equal(t, []string{"ACL SETUSER " + name + " +" + command}, found.Commands)
			assert.Contains(t, found.Fix, "; then ACL SAVE, or CONFIG REWRITE without an aclfile")
			assert.Empty(t, titled(report, "a command does not exist"))
		})
	}
}

// What is missing, and what to type.
func TestRightsAndTheirFixes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "users.acl")
	require.NoError(t, os.WriteFile(file, []byte("user default on nopass ~* &* +@all\n"), 0o600))
	keys := func(pattern string) string { return strings.Replace(rights, "~*", pattern, 1) }
	channels := func(pattern string) string { return strings.Replace(rights, "&*", "resetchannels "+pattern, 1) }
	const getUser = " +acl|getuser"
	const (
		right, command, key = "a right is missing", "a command does not exist", "the right to a key is missing"
		unknownNames        = "the right to names is unknown"
		unwoken, unknown    = "waiters are not woken", "the right to channels is unknown"
		noAccess            = "NOPERM this user has no permissions to access"
		noChannel           = "publish, subscribe: NOPERM"
		inFlags             = "in its flags, or the settings of the service: "
	)
	type testCase struct {
		args       string // of the server
		rights     string // "": those of the flag --user
		title, why string
		fix        string
		commands   string // separated by semicolons
	}
	testmain.Each(t, map[string]testCase{
		"several rights": {
			"", rights + " -zscore -pexpire", right, "pexpire, zscore: NOPERM", "", "ACL SETUSER app +pexpire +zscore",
		},
		"a user who may read the settings": {
			"", rights + " -type +config|get", right, "", "", "ACL SETUSER app +type",
		},
		"a server with an ACL file": {
			"--aclfile " + file, rights + " -type +config|get", right, "", "", "ACL SETUSER app +type; ACL SAVE",
		},
		"keys":                       {"", keys("~orders:*"), key, noAccess, "", "ACL SETUSER app ~redlock:*"},
		"keys that may only be read": {"", keys("%R~*"), key, "", "", "ACL SETUSER app ~redlock:*"},
		"no key but ours": {
			"", keys("~redlock:*") + getUser, key, "only names that begin with redlock: can be locked", "",
			"ACL SETUSER app ~*",
		},
		"perhaps no key but ours":    {"", keys("~redlock:*"), unknownNames, noAccess, "", "ACL SETUSER app ~*"},
		"the keys of some names":     {"", keys("~redlock:* ~orders:*") + getUser, unknownNames, "", "", "any"},
		"the keys of a selector":     {"", keys("~redlock:*") + getUser + " (~x:* +@all)", unknownNames, "", "", "any"},
		"no channel":                 {"", channels("") + getUser, unwoken, noChannel, "", "ACL SETUSER app &redlock:*"},
		"another program's channel":  {"", channels("&news:*") + getUser, unwoken, "", "", "ACL SETUSER app &redlock:*"},
		"perhaps no channel":         {"", channels(""), unknown, noChannel, "", "ACL SETUSER app &redlock:*"},
		"the channels of some names": {"", channels("&redlock:orders:*") + getUser, unknown, "", "", "any"},
		"no right to publish":        {"", rights + " -publish", unwoken, "publish: NOPERM", "", "ACL SETUSER app +publish"},
		"renamed commands": {
			"--rename-command PEXPIRE gone --rename-command ZREMRANGEBYSCORE other", rights, command,
			"pexpire, zremrangebyscore: ERR unknown command",
			"remove the rename-command of PEXPIRE, ZREMRANGEBYSCORE from its redis.conf and restart it", "",
		},
		"a renamed PUBLISH": {
			"--rename-command PUBLISH gone", rights, unwoken, "publish: ERR unknown command",
			"remove the rename-command of PUBLISH", "",
		},
		"a renamed CONFIG": {
			"--rename-command CONFIG gone", "on >secret ~* &* +@all", "not examined",
			"CONFIG GET maxmemory: ERR unknown command", "nothing, if a managed service hides", "",
		},
		// The commands of a fix are those that the server knows. It knows its users from its flags.
		"a policy, and no CONFIG": {
			"--maxmemory-policy allkeys-lru --rename-command CONFIG gone", "on >secret ~* &* +@all", "would evict locks", "",
			inFlags + "maxmemory-policy noeviction; restart it", "",
		},
		"a right, and no CONFIG": {
			"--rename-command CONFIG gone", "on >secret ~* &* +@all -type", right, "",
			"ACL SETUSER app +type; then ACL SAVE, or without an aclfile the same in redis.conf", "ACL SETUSER app +type",
		},
		"a right, and no ACL": {
			"--rename-command ACL gone --user app on >secret ~* &* +@all -type", "", right, "",
			inFlags + "user app +type; then restart it", "",
		},
		"a key, and no ACL": {
			"--rename-command ACL gone --user app on >secret ~redlock:* &* +@all", "", unknownNames, "",
			"otherwise " + inFlags + "user app ~*; then restart it", "",
		},
	}, func(t *testing.T, c testCase) {
		server := redisproc.ForTest(t, 1, strings.Fields(c.args)...)[0]
		if c.rights != "" {
			user(t, server, "app", c.rights)
		}
		url := "redis://app:secret@" + server.Addr()
		for _, l := range []*redlock.Locker{open(t, []string{url}), wrap(t, client(t, url))} {
			report := reportOn(t, l, span)
			found := one(t, report, c.title)
			assert.Contains(t, found.Why, c.why)
			assert.Contains(t, found.Fix, c.fix)
			if c.commands != "any" {
				assert.Equal(t, c.commands, strings.Join(found.Commands, "; "))
			}
			for _, other := range []string{right, command, key, "refuses locks", unwoken, unknown, unknownNames} {
				assert.True(t, other == c.title || len(titled(report, other)) == 0, "%s: %v", other, report)
			}
		}
	})
}

// No right helps against a proxy that does not know a command.
func TestAProxyWithoutSubscriptions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		w.Master(0).Reply("ERR unsupported command", "SUBSCRIBE")
		n, err := node.Open(w.Master(0).URL(), node.WithDialer(w.Dial))
		require.NoError(t, err)
		l, err := redlock.New([]*node.Node{n})
		require.NoError(t, err)
		defer l.Close()
		found := one(t, reportOn(t, l, span), "waiters are not woken")
		assert.Contains(t, found.Why, "subscribe: ERR unsupported command")
		assert.Contains(t, found.Fix, "what is between it and this host")
		assert.Empty(t, found.Commands)
	})
}

func TestWhichCommandsAreMissing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err                error
		forbidden, unknown bool
	}{
		{nil, false, false},
		{errors.New("NOPERM in the text of another error"), false, false},
		{resp.Error("OOM command not allowed"), false, false},
		{resp.Error("ERR unknown user"), false, false},
		{resp.Error("NOPERM this user has no permissions to run the 'info' command"), true, false},
		{resp.Error("NOPERM this user has no permissions to access one of the keys"), true, false},
		{resp.Error("ERR ACL failure in script: User x has no permissions"), true, false},
		{resp.Error("ERR The user executing the script can't run this command or subcommand"), true, false},
		{resp.Error("ERR unknown command 'evalsha', with args beginning with: "), false, true},
	} {
		forbidden, unknown := doctor.Lacks(c.err)
		assert.Equal(t, c.forbidden, forbidden, "%v", c.err)
		assert.Equal(t, c.unknown, unknown, "%v", c.err)
	}
}
