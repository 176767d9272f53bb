package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testcert"
	"github.com/redlock-go/redlock/internal/wallclock"
)

// The users of a master: that of docs/masters.md for locks, and that which the finding "not examined" advises.
const (
	locksUser = "ACL SETUSER redlock on >secret resetkeys ~orders:* ~redlock:* resetchannels &redlock:orders:* -@all " +
		"+set +get +getrange " +
		"+del +pexpire +pttl +type +zadd +zrem +zrange +zrangebyscore +zremrangebyscore +zscore +pexpireat +time +eval " +
		"+evalsha +publish +subscribe +unsubscribe +info +hello +ping +select"
	doctorUser = "ACL SETUSER doctor on >secret ~* &* +@all -@dangerous +info +config|get +client +slowlog +latency " +
		"+acl|whoami"
	adminUser = "ACL SETUSER admin on >secret ~* &* +@all"
)

// master is a redis-server that only speaks TLS and has a wall clock of its own.
type master struct {
	*redisproc.Server

	clock *wallclock.Clock
	admin *redis.Client
	pki   *pki
}

// name is how the log, the metrics and doctor call the master.
func (m *master) name() string { return m.TLSAddr() }

// urls returns the URLs of masters for a user.
func urls(masters []*master, user string) (all []string) {
	for _, m := range masters {
		all = append(all, "rediss://"+user+":secret@"+m.TLSAddr())
	}
	return all
}

// do executes a command, given as one line, as the admin.
func (m *master) do(ctx context.Context, line string) error {
	if err := do(ctx, m.admin, line); err != nil {
		return fmt.Errorf("%s on %s: %w", line, m.name(), err)
	}
	return nil
}

func do(ctx context.Context, c *redis.Client, line string) error {
	var args []any
	for _, word := range strings.Fields(line) {
		args = append(args, word)
	}
	return c.Do(ctx, args...).Err()
}

// serve has the master present the certificate from now on.
func (m *master) serve(ctx context.Context, cert tls.Certificate) error {
	certFile, key, _ := m.pki.Files(cert)
	return m.do(ctx, "CONFIG SET tls-cert-file "+certFile+" tls-key-file "+key)
}

// pki is the authority of the day, and how a client uses it.
type pki struct {
	*testcert.Authority

	dir    tempDir // for files
	config *tls.Config
}

func newPKI(dir string) *pki {
	authority := testcert.New(tempDir(dir))
	config := authority.Trusting()
	config.Certificates = []tls.Certificate{authority.Valid()}
	return &pki{authority, tempDir(dir), config}
}

// tempDir is a testcert.TB whose directories are in this one.
type tempDir string

func (tempDir) Helper()                           {}
func (tempDir) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (d tempDir) TempDir() string {
	dir, err := os.MkdirTemp(string(d), "")
	if err != nil {
		panic(err)
	}
	return dir
}

// startMaster starts a master with a client certificate, an ACL and an AOF. The default user cannot log in.
func startMaster(ctx context.Context, lib string, p *pki, args ...string) (*master, error) {
	clock, err := wallclock.New(p.dir.TempDir())
	if err != nil {
		return nil, err
	}
	m := &master{pki: p, clock: clock}
	cert, key, ca := p.Files(p.Valid())
	m.Server, err = redisproc.StartWith(ctx, redisproc.Options{
		Env: []string{"LD_PRELOAD=" + lib, wallclock.EnvFile + "=" + clock.File()},
		Args: append([]string{
			"--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca, "--tls-auth-clients", "yes",
			"--maxmemory-policy", "noeviction", "--appendonly", "yes", "--appendfsync", "everysec",
		}, args...),
	})
	if err != nil {
		return nil, err
	}
	m.admin = redis.NewClient(&redis.Options{
		Addr: m.TLSAddr(), TLSConfig: p.config, Username: "admin", Password: "secret",
	})
	open := redis.NewClient(&redis.Options{Addr: m.Addr()})
	defer open.Close()
	for _, line := range []string{locksUser, doctorUser, adminUser} {
		if err := do(ctx, open, line); err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
	}
	for _, line := range []string{"CONFIG SET port 0", "ACL SETUSER default off", "CONFIG RESETSTAT"} {
		if err := m.do(ctx, line); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *master) stop() error {
	_ = m.Thaw()
	_ = m.admin.Close()
	return m.Close()
}

// fillDisk makes every further write to the AOF fail, as on a full disk: the next file of the AOF leads to /dev/full.
// It returns when the first write has failed, so that the master refuses the next one.
func (m *master) fillDisk(ctx context.Context) error {
	file := filepath.Join(m.Dir(), "appendonlydir", "appendonly.aof.2.incr.aof")
	if err := os.Symlink("/dev/full", file); err != nil {
		return err
	}
	if err := m.do(ctx, "BGREWRITEAOF"); err != nil {
		return err
	}
	return m.await(ctx, "persistence", "aof_last_write_status:err")
}

// await waits until a section of the master's INFO contains a text.
func (m *master) await(ctx context.Context, section, text string) error {
	for ctx.Err() == nil {
		info, err := m.admin.Info(ctx, section).Result()
		if err != nil || strings.Contains(info, text) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return ctx.Err()
}

// replicate starts a replica of the master and waits until it has connected.
func (m *master) replicate(ctx context.Context, lib string) (*master, error) {
	host, port, _ := strings.Cut(m.TLSAddr(), ":")
	r, err := startMaster(ctx, lib, m.pki, "--replicaof", host, port, "--tls-replication", "yes",
		"--masteruser", "admin", "--masterauth", "secret")
	if err != nil {
		return nil, err
	}
	return r, m.await(ctx, "replication", "state=online")
}
