package exact_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/exact"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// hashes is the file of hashes that an earlier build of the same commit wrote. TestHashes writes it if it does not
// exist.
var hashes = flag.String("hashes", "", "a file of hashes to compare with, or to write")

// some is the number of schedules whose hashes are compared.
const some = 100

func player(t *testing.T) *exact.Player {
	t.Helper()
	if err := exact.Available(); err != nil {
		if os.Getenv("REDLOCK_REQUIRE_REDIS") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	p, err := exact.Open(t.Context(), t.Logf)
	require.NoError(t, err)
	return p
}

// A build of its own, in another process, with another number of processors and another folder for its cache, has the
// same hashes.
func TestASeedAndAnOrderRepeatEverything(t *testing.T) {
	player(t)
	file := t.TempDir() + "/hashes"
	for _, procs := range []string{"1", "3"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestHashes$", "-hashes="+file)
		cmd.Env = append(cmd.Environ(), "GOMAXPROCS="+procs)
		if procs == "1" {
			cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+t.TempDir(), "HOME="+t.TempDir(), "GOCACHE="+gocache(t))
		}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
}

func gocache(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	require.NoError(t, err)
	dirs := strings.Fields(string(out))
	t.Setenv("GOMODCACHE", dirs[1])
	return dirs[0]
}

// TestHashes compares the hashes of schedules, in an order each, with those in a file, or writes them.
func TestHashes(t *testing.T) {
	if *hashes == "" {
		t.Skip("a part of TestASeedAndAnOrderRepeatEverything")
	}
	p := player(t)
	all := make([]string, some)
	var running sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for i := range next {
				o, err := p.Play(exact.Job{Schedule: simulation.Draw(uint64(i) + 1), Order: uint64(i % 4)})
				if err != nil {
					t.Error(err)
				}
				all[i] = fmt.Sprintf("%d %d %s", i+1, i%4, o.Hash)
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	running.Wait()
	before, err := os.Open(*hashes)
	if os.IsNotExist(err) {
		require.NoError(t, os.WriteFile(*hashes, []byte(strings.Join(all, "\n")+"\n"), 0o644))
		return
	}
	require.NoError(t, err)
	defer before.Close()
	var old []string
	for lines := bufio.NewScanner(before); lines.Scan(); {
		old = append(old, lines.Text())
	}
	assert.Equal(t, old, all)
}

// An order changes what happens, and a violation shows in every run of its order. What shrinks it finds the same every
// time.
func TestAViolationIsFoundAgainAndShrunk(t *testing.T) {
	t.Parallel()
	p := player(t)
	const lock = "restart guard off"
	control, ok := simulation.FindControl(lock)
	require.True(t, ok)
	const order = 1
	n, found := control.Catch(t.Context(), func(s simulation.Schedule) *simulation.Result {
		return p.Result(s, lock, order)
	})
	require.NotNil(t, found)
	t.Logf("caught by schedule %d, seed %d", n, found.Schedule.Seed)
	s := found.Schedule
	play := func(order uint64) exact.Outcome {
		o, err := p.Play(exact.Job{Schedule: s, Lock: lock, Order: order, Whole: true})
		require.NoError(t, err)
		return o
	}
	first, again, other := play(order), play(order), play(order+1)
	assert.Equal(t, first, again)
	assert.Equal(t, first.Report, found.Report())
	assert.NotEqual(t, first.Hash, other.Hash)
	assert.Contains(t, first.Report, "VIOLATION (exclusion)")
	assert.Contains(t, first.Report, "timeline")

	exactly := func(s simulation.Schedule, order uint64) *simulation.Result { return p.Result(s, lock, order) }
	small, in, last := simulation.Shrink(t.Context(), s, order, exactly, check.ByExclusion)
	require.NotNil(t, last, "nothing could be left out")
	assert.Contains(t, exactly(small, in).By(), check.ByExclusion, "it shows again, at once")
	assert.True(t, p.Result(small, "", in).OK(), "and with the rule it does not")

	pinned, err := simulation.Parse([]byte(small.JSON()))
	require.NoError(t, err)
	assert.Equal(t, small, pinned)
}

func TestALockThatDoesNotExistIsAnError(t *testing.T) {
	t.Parallel()
	_, err := player(t).Play(exact.Job{Schedule: simulation.Draw(1), Lock: "rope"})
	require.ErrorContains(t, err, `no broken lock of the simulation is called "rope"`)
}
