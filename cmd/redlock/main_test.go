package main_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/redlocktest"
)

// binary is redlock, built as a user builds it; testBinary is this test's binary.
var binary, testBinary string

func TestMain(m *testing.M) {
	asHelper()
	heedSignals()
	testmain.MostlyWait()
	testBinary, _ = os.Executable()
	dir, err := os.MkdirTemp("", "redlock-test-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "redlock")
	build := []string{"build", "-o", binary}
	if raced() {
		build = append(build, "-race")
	}
	if out, err := exec.Command("go", append(build, ".")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	testmain.Run(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// raced reports whether the test runs with -race. The command is then built with it, too.
func raced() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// output is what a process has written so far.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// process is a running redlock.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr output
	ended          chan struct{}
	code           int
}

// launch starts redlock with args over masters (nil: none). It is ended with the test.
func launch(t *testing.T, masters []*redlocktest.Master, args ...string) *process {
	t.Helper()
	return launchWith(t, masters, nil, args...)
}

func launchWith(t *testing.T, masters []*redlocktest.Master, change func(*exec.Cmd), args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(binary, unhurried(args)...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.WaitDelay = time.Second // its remaining descendants may hold the pipes
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=dumb"}
	if masters != nil {
		p.cmd.Env = append(p.cmd.Env, "REDLOCK_MASTERS="+joined(masters))
	}
	if change != nil {
		change(p.cmd)
	}
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait()
		p.code = p.cmd.ProcessState.ExitCode() // -1 if a signal ended redlock itself
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}

// after has a shell run a script before it becomes redlock.
func after(script string) func(*exec.Cmd) {
	return func(c *exec.Cmd) {
		c.Path, c.Args = "/bin/sh", append([]string{"sh", "-c", script + `; exec "$0" "$@"`, binary}, c.Args[1:]...)
	}
}

// unhurried adds a long --node-timeout to the arguments of a redlock that asks the masters, unless they have one: on a
// busy machine an answer may take longer than the default of 500 ms. With --ttl it is at most a quarter of that. It is
// left out with --max-ttl, and if the TTL is below 5 s.
func unhurried(args []string) []string {
	const flag, longest = "--node-timeout", 4 * time.Second
	if len(args) == 0 || !slices.Contains([]string{"run", "lead", "status", "release"}, args[0]) ||
		slices.Contains(args, flag) || slices.Contains(args, "--max-ttl") {
		return args
	}
	value := longest
	if at := slices.Index(args, "--ttl") + 1; at > 0 && at < len(args) {
		ttl, err := time.ParseDuration(args[at])
		if value = min(longest, ttl/4); err != nil || ttl < 5*time.Second {
			return args
		}
	}
	return slices.Insert(slices.Clone(args), 1, flag, value.String())
}

// joined is the list of the masters as --masters takes it.
func joined(masters []*redlocktest.Master) string {
	return strings.Join(redlocktest.URLs(masters), ",")
}

// wait returns the exit status.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("redlock still runs\nstdout: %s\nstderr: %s", p.stdout.String(), p.stderr.String())
	}
	return p.code
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

// says waits until stdout holds text.
func (p *process) says(text string) {
	p.t.Helper()
	p.await(text, &p.stdout)
}

// await waits until one of its outputs holds text.
func (p *process) await(text string, in *output) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return strings.Contains(in.String(), text) }, patience, 2*time.Millisecond,
		"it does not say %q\nstdout: %v\nstderr: %v", text, &p.stdout, &p.stderr)
}

// result is how a redlock ended.
type result struct {
	code           int
	stdout, stderr string
}

func (p *process) result() result {
	p.t.Helper()
	return result{p.wait(), p.stdout.String(), p.stderr.String()}
}

// redlock runs redlock to its end.
func redlock(t *testing.T, masters []*redlocktest.Master, args ...string) result {
	t.Helper()
	return launch(t, masters, args...).result()
}

// fails checks that redlock has ended with a status, has printed nothing, and has said each of the texts on stderr.
func (r result) fails(t *testing.T, code int, texts ...string) {
	t.Helper()
	assert.Equal(t, code, r.code, r.stderr)
	assert.Empty(t, r.stdout)
	for _, text := range texts {
		assert.Contains(t, r.stderr, text)
	}
}

// client is a client of a master, closed with the test.
func client(t *testing.T, m *redlocktest.Master) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(m.URL())
	require.NoError(t, err)
	opts.MaxRetries, opts.DialerRetries = -1, 1
	c := redis.NewClient(opts)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func stopAll(masters []*redlocktest.Master) {
	for _, m := range masters {
		m.Stop()
	}
}

// left returns a function that returns the TTL of name on a master, as long as the test runs.
func left(t *testing.T, m *redlocktest.Master, name string) func() time.Duration {
	t.Helper()
	c := client(t, m)
	return func() time.Duration { return c.PTTL(context.Background(), name).Val() }
}

// votes counts the masters, of those that answer, that hold name; token is what the last of them holds.
func votes(t *testing.T, masters []*redlocktest.Master, name string) (n int, token string) {
	t.Helper()
	for _, m := range masters {
		c := client(t, m)
		if got, err := c.Get(context.Background(), name).Result(); err == nil {
			n, token = n+1, got
		}
		require.NoError(t, c.Close()) // a test may count often
	}
	return n, token
}

// free reports whether no master that answers holds name.
func free(t *testing.T, masters []*redlocktest.Master, name string) bool {
	t.Helper()
	n, _ := votes(t, masters, name)
	return n == 0
}

// heldEverywhere waits until all masters hold name (a majority is enough to begin), and returns the token.
func heldEverywhere(t *testing.T, masters []*redlocktest.Master, name string) (token string) {
	t.Helper()
	require.Eventually(t, func() bool {
		n, got := votes(t, masters, name)
		token = got
		return n == len(masters)
	}, patience, 5*time.Millisecond)
	return token
}

// hold starts a redlock that holds name until its stdin is closed by end.
func hold(t *testing.T, masters []*redlocktest.Master, name string, flags ...string) (p *process, end func()) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	args := append(
		append([]string{"run"}, flags...), name, "--", "sh", "-c", `echo holding; cat >/dev/null; echo released`,
	)
	p = launchWith(t, masters, func(c *exec.Cmd) { c.Stdin = r }, args...)
	require.NoError(t, r.Close())
	once := sync.OnceFunc(func() { _ = w.Close() })
	t.Cleanup(once)
	p.says("holding")
	return p, once
}
