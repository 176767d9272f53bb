package aof_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/aof"
	"github.com/redlock-go/redlock/internal/need"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// A machine that loses power loses the pages of a file that were not synced. SIGKILL loses none of them. So these tests
// have strace record what redis-server writes to its append-only file and when it syncs it, kill the server, cut the
// file to the length that was synced, and start the server again.

// A recorded server is one whose writes and syncs strace records.
type recorded struct {
	*redisproc.Server
	trace string
	begin int64 // length of the file when the recording began
	ended chan struct{}
	saver *os.Process // the child that saves a snapshot; nil: there is none
}

func (r *recorded) file(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(r.Dir(), aof.Dir, "*.incr.aof"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	return files[0]
}

func (r *recorded) size(t *testing.T) int64 {
	t.Helper()
	info, err := os.Stat(r.file(t))
	require.NoError(t, err)
	return info.Size()
}

// record starts a server with the given appendfsync and further flags, and strace.
func record(t *testing.T, fsync string, args ...string) *recorded {
	t.Helper()
	args = slices.Concat(aof.Args(fsync), []string{"--aof-timestamp-enabled", "no"}, args)
	s := redisproc.ForTest(t, 1, args...)[0]
	r := &recorded{Server: s, trace: filepath.Join(t.TempDir(), "strace.txt"), ended: make(chan struct{})}
	r.begin = r.size(t)
	cmd := exec.Command("strace", "-f", "-y", "-s", "0", "-e", "trace=write,fsync,fdatasync", "-o", r.trace,
		"-p", strconv.Itoa(s.PID()))
	said, err := cmd.StderrPipe()
	require.NoError(t, err)
	if err := cmd.Start(); err != nil {
		need.SkipIf(t, need.Redis, fmt.Errorf("no strace: %w", err))
	}
	attached := make(chan error, 1)
	go func() {
		defer close(r.ended)
		lines := bufio.NewScanner(said)
		if !lines.Scan() || !strings.Contains(lines.Text(), "attached") {
			attached <- fmt.Errorf("strace cannot attach: %s", lines.Text())
		}
		attached <- nil
		_, _ = io.Copy(io.Discard, said)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() { r.crash(t) })
	need.SkipIf(t, need.Redis, <-attached)
	return r
}

// crash kills the server and its child. strace ends with them.
func (r *recorded) crash(t *testing.T) {
	t.Helper()
	assert.NoError(t, r.Kill())
	if r.saver != nil {
		_ = r.saver.Kill() // unless it has ended
	}
	<-r.ended
}

// slowSnapshot has a snapshot take a minute for each key, which is longer than a test.
var slowSnapshot = []string{"--rdb-key-save-delay", "60000000"}

var saverPID = regexp.MustCompile(`Background saving started by pid (\d+)`)

// beginSnapshot has the server write a key, and begin to save a snapshot.
func (r *recorded) beginSnapshot(t *testing.T) {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: r.Addr()})
	defer c.Close()
	require.NoError(t, c.Set(t.Context(), "saved", "slowly", 0).Err())
	require.NoError(t, c.BgSave(t.Context()).Err())
	found := saverPID.FindStringSubmatch(r.Log())
	require.Len(t, found, 2, r.Log())
	pid, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	r.saver, err = os.FindProcess(pid)
	require.NoError(t, err)
}

// saving reports whether the server is saving a snapshot.
func (r *recorded) saving(t *testing.T) bool {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: r.Addr()})
	defer c.Close()
	info, err := c.Info(t.Context(), "persistence").Result()
	require.NoError(t, err)
	return strings.Contains(info, "rdb_bgsave_in_progress:1")
}

// loseUnsynced kills the server, cuts its file to what was synced, and starts it again. It returns how many bytes were
// lost.
func (r *recorded) loseUnsynced(t *testing.T) int64 {
	t.Helper()
	r.crash(t)
	trace, err := os.ReadFile(r.trace)
	require.NoError(t, err)
	written, synced := lengths(r.begin, string(trace))
	require.Equal(t, r.size(t), written, "strace saw every write")
	require.NoError(t, os.Truncate(r.file(t), synced))
	require.NoError(t, r.Start(t.Context()))
	return written - synced
}

var (
	call    = regexp.MustCompile(`^(\d+) +(write|fsync|fdatasync)\(\d+<([^>]*)>.*?(?:\) += (-?\d+)|(<unfinished \.\.\.>))`)
	resumed = regexp.MustCompile(`^(\d+) +<\.\.\. (write|fsync|fdatasync) resumed>.*\) += (-?\d+)`)
)

// lengths returns how long the append-only file was at the end of a trace of strace, and how much of it was synced:
// what was written before a sync began that succeeded.
func lengths(begin int64, trace string) (written, synced int64) {
	written = begin
	under := map[string]int64{} // by thread: the length when the sync began
	end := func(thread, what string, result int64) {
		switch {
		case what == "write":
			written += max(result, 0)
		case result == 0:
			synced = max(synced, under[thread])
		}
	}
	for line := range strings.Lines(trace) {
		if m := call.FindStringSubmatch(line); m != nil && strings.HasSuffix(m[3], ".incr.aof") {
			under[m[1]] = written
			if m[5] == "" {
				result, _ := strconv.ParseInt(m[4], 10, 64)
				end(m[1], m[2], result)
			}
		} else if m := resumed.FindStringSubmatch(line); m != nil {
			if _, ok := under[m[1]]; ok {
				result, _ := strconv.ParseInt(m[3], 10, 64)
				end(m[1], m[2], result)
			}
		} else {
			thread, _, _ := strings.Cut(line, " ")
			delete(under, thread) // it does something else
		}
	}
	return written, synced
}

func TestOnlyWhatWasWrittenBeforeASyncThatSucceededIsSynced(t *testing.T) {
	t.Parallel()
	const (
		file   = "8</tmp/x/appendonlydir/appendonly.aof.1.incr.aof>"
		write  = "10 write(" + file + ", \"\"..., 20) = 20\n"
		begins = write + "11 fdatasync(" + file + " <unfinished ...>\n" + write
	)
	for trace, want := range map[string]int64{
		begins + "11 <... fdatasync resumed>) = 0\n": 25,
		begins: 0,
		write + "10 fdatasync(" + file + ") = -1 EIO (Input/output error)\n": 0,
	} {
		_, synced := lengths(5, trace)
		assert.Equal(t, want, synced, trace)
	}
}

// A fleet is three recorded servers.
type fleet []*recorded

func recordThree(t *testing.T, fsync string, args ...string) (f fleet) {
	t.Helper()
	for range 3 {
		f = append(f, record(t, fsync, args...))
	}
	return f
}

const ttl = 30 * time.Second

func (f fleet) open(t *testing.T, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	var urls []string
	for _, s := range f {
		urls = append(urls, s.URL())
	}
	all := []redlock.Option{redlock.WithTTL(ttl), redlock.WithoutKeepalive(), redlock.WithNodeTimeout(5 * time.Second)}
	l, err := redlock.Open(urls, append(all, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() }) // its masters may be gone
	return l
}

// acquire returns a lock that every server has granted.
func (f fleet) acquire(t *testing.T, l *redlock.Locker, name string) *redlock.Lock {
	t.Helper()
	lock, err := l.Lock(t.Context(), name, redlock.WithFencing())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return f.with(t, lock) == len(f) }, 5*time.Second, time.Millisecond)
	return lock
}

// with returns how many servers have the key of a lock.
func (f fleet) with(t *testing.T, lock *redlock.Lock) (n int) {
	t.Helper()
	for _, s := range f {
		c := redis.NewClient(&redis.Options{Addr: s.Addr()})
		token, err := c.Get(t.Context(), lock.Name()).Result()
		require.NoError(t, c.Close())
		if err == nil && token == lock.Token() {
			n++
		}
	}
	return n
}

// loseUnsynced has the servers lose their pages, and returns how many lost any.
func (f fleet) loseUnsynced(t *testing.T) (losers int) {
	t.Helper()
	for _, s := range f {
		if s.loseUnsynced(t) > 0 {
			losers++
		}
	}
	return losers
}

// With appendfsync always, a server syncs each write before it replies: a lock outlives the loss of all pages that were
// not synced, also without the restart guard. With no-appendfsync-on-rewrite, it syncs nothing while a child saves a
// snapshot: a lock that is acquired meanwhile is lost with its pages, and a second client then holds it.
func TestALockOutlivesLostPagesWithAppendfsyncAlways(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args     []string
		snapshot bool
		keep     int
	}{
		"without a snapshot": {nil, false, 3},
		"during a snapshot":  {slowSnapshot, true, 3},
		"during a snapshot, with no-appendfsync-on-rewrite": {
			append(slowSnapshot, "--no-appendfsync-on-rewrite", "yes"), true, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := recordThree(t, "always", tt.args...)
			if tt.snapshot {
				for _, s := range f {
					s.beginSnapshot(t)
				}
			}
			lock := f.acquire(t, f.open(t, redlock.WithoutRestartGuard()), "x")
			for _, s := range f {
				require.Equal(t, tt.snapshot, s.saving(t))
			}
			f.loseUnsynced(t)
			require.Equal(t, tt.keep, f.with(t, lock))
			_, err := f.open(t, redlock.WithoutRestartGuard()).TryLock(t.Context(), "x")
			if tt.keep == 0 {
				require.NoError(t, err, "no server has the lock")
			} else {
				require.ErrorIs(t, err, redlock.ErrHeld)
			}
			require.True(t, time.Now().Before(lock.Until()), "the machine was too slow")
		})
	}
}

// With appendfsync everysec, a majority may lose a lock with its pages. Without the restart guard a second client then
// holds it, with a larger fencing token. The guard prevents that.
func TestOnlyTheGuardKeepsALockWhosePagesAreLostWithAppendfsyncEverysec(t *testing.T) {
	t.Parallel()
	// A server syncs once a second, and on a busy machine the second may end before all three are killed. Then the
	// attempt has lost nothing, and shows nothing.
	for attempt := 1; ; attempt++ {
		f := recordThree(t, "everysec")
		holder := f.open(t, redlock.WithoutRestartGuard())
		// A write after a second of rest is synced at once, those of the following second only at its end.
		f.acquire(t, holder, "earlier")
		time.Sleep(100 * time.Millisecond)
		lock := f.acquire(t, holder, "x")
		if losers := f.loseUnsynced(t); losers < 2 {
			require.Less(t, attempt, 10, "only %d of 3 servers lost the lock", losers)
			continue
		}
		require.Less(t, f.with(t, lock), 2, "a majority lost it")
		_, err := f.open(t).TryLock(t.Context(), "x")
		require.ErrorIs(t, err, redlock.ErrNoQuorum, "within the restart window")

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		second, err := f.open(t, redlock.WithoutRestartGuard()).Lock(ctx, "x", redlock.WithFencing())
		require.NoError(t, err, "the guard is off")
		require.True(t, time.Now().Before(lock.Until()), "the machine was too slow")
		assert.Greater(t, second.Fence(), lock.Fence(), "the clocks agree")
		return
	}
}
