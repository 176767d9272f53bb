// Package exact plays schedules of the simulation so that a seed and an order repeat everything that happens.
//
// The simulation is compiled for wasip1 (package guest). There it has one thread, nothing preempts a goroutine, and
// every random bit and every reading of a clock comes from the host (chaos/README.md, "Exact runs"). Each job has an
// instance of its own: a schedule shows the same alone and as one of thousands.
//
// The runtime is wasmtime, which needs cgo. wazero needs none, and takes three times as long.
package exact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/simulation"
	"github.com/redlock-go/redlock/internal/need"
)

// instance is one run of a program.
type instance struct {
	args           []string
	seed, order    uint64
	root, dir      string // the folder that the program may read, "" for none, and where in it the program runs
	stdout, stderr io.Writer
}

// A Player plays jobs. Any number of goroutines may use it.
type Player struct {
	// Program is the beginning of the SHA-256 of the guest.
	Program string

	module *module
}

// Open builds the guest, or takes it from the caches of Go and of wasmtime. It needs the go command, and must be
// called in a folder of the harness's workspace.
func Open(ctx context.Context, say func(format string, args ...any)) (*Player, error) {
	return open(ctx, say, "build", "-ldflags=-s -w", "github.com/redlock-go/redlock/chaos/internal/exact/guest")
}

// Start is Open for a test. All tests of a program share one Player.
func Start(t testing.TB) *Player {
	t.Helper()
	need.SkipIf(t, need.Redis, Available())
	p, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var shared = sync.OnceValues(func() (*Player, error) { return Open(context.Background(), log.Printf) })

// OpenTest is Open for the tests of a package. What it returns only has [Player.Test].
func OpenTest(ctx context.Context, say func(format string, args ...any), pkg string) (*Player, error) {
	return open(ctx, say, "test", "-c", pkg)
}

func open(ctx context.Context, say func(format string, args ...any), how string, args ...string) (*Player, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "redlock-exact-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "guest.wasm")
	// Neither the folder nor the state of the checkout may be part of the program.
	all := append([]string{how, "-trimpath", "-o", file}, args...)
	if how == "build" {
		all = slices.Insert(all, 1, "-buildvcs=false")
	}
	build := exec.CommandContext(ctx, "go", all...)
	build.Env = append(build.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	begin := time.Now()
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s for wasip1: %w: %s", args[len(args)-1], err, bytes.TrimSpace(out))
	}
	program, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(program)
	p := &Player{Program: hex.EncodeToString(sum[:6])}
	p.module, err = compile(program)
	say("built the program for wasip1, and compiled it, in %v", time.Since(begin).Round(time.Second/10))
	return p, err
}

// Play plays a job.
func (p *Player) Play(j Job) (*simulation.Result, error) {
	args, err := j.args()
	if err != nil {
		return nil, err
	}
	var out, log bytes.Buffer
	status, err := p.module.run(instance{
		args: args, seed: j.Schedule.Seed, order: j.Order, stdout: &out, stderr: &log,
	})
	if err == nil && status != 0 {
		err = fmt.Errorf("exit status %d", status)
	}
	r := &simulation.Result{}
	if err == nil {
		err = json.Unmarshal(out.Bytes(), r)
	}
	if err != nil {
		return nil, fmt.Errorf("seed %d in order %d: %w: %s", j.Schedule.Seed, j.Order, err, tail(log.Bytes()))
	}
	return r, nil
}

// Playing returns what plays schedules with a lock. If the guest fails, the result says so as a finding.
func (p *Player) Playing(lock string) simulation.Play {
	return func(s simulation.Schedule, order uint64) *simulation.Result {
		r, err := p.Play(Job{Schedule: s, Lock: lock, Order: order})
		if err != nil {
			return simulation.Failed(s, err)
		}
		return r
	}
}

// Test runs the tests in the folder dir of the module at root whose names match the pattern, in an order. They may read
// the files of the module. It returns what they print, and an error if one of them fails.
func (p *Player) Test(root, dir, pattern string, order uint64) (string, error) {
	var out bytes.Buffer
	status, err := p.module.run(instance{
		args: []string{"test", "-test.run=" + pattern, "-test.parallel=1", "-test.timeout=0"}, order: order,
		root: root, dir: dir, stdout: &out, stderr: &out,
	})
	if err == nil && status != 0 {
		err = errors.New("a test failed")
	}
	return out.String(), err
}

func tail(log []byte) []byte { return bytes.TrimSpace(log[max(0, len(log)-4000):]) }
