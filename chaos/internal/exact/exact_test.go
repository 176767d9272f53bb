package exact_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/controls"
	"github.com/redlock-go/redlock/chaos/internal/exact"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// some is the number of schedules whose hashes are compared.
const some = 100

// short is the longest storm of these schedules.
const short = time.Second

// A process that is told so prints the hashes of some schedules, in an order each, and runs no test.
func TestMain(m *testing.M) {
	if os.Getenv("PRINT_HASHES") == "" {
		os.Exit(m.Run())
	}
	p, err := exact.Open(context.Background(), log.Printf)
	if err != nil {
		log.Fatal(err)
	}
	all := make([]string, some)
	var running errgroup.Group
	running.SetLimit(runtime.GOMAXPROCS(0))
	for i := range all {
		running.Go(func() error {
			s := simulation.Draw(uint64(i) + 1)
			s.Storm = min(s.Storm, short)
			r, err := p.Play(exact.Job{Schedule: s, Order: uint64(i % 4), Whole: os.Getenv("WHOLE") != ""})
			if err == nil {
				all[i] = fmt.Sprintln(s.Seed, i%4, r.Hash)
			}
			return err
		})
	}
	if err := running.Wait(); err != nil {
		log.Fatal(err)
	}
	fmt.Print(p.Program, "\n", strings.Join(all, ""))
}

// A build of its own, in another process, with another number of processors and another folder for its cache, has the
// same hashes, also if it asks for the whole results.
func TestASeedAndAnOrderRepeatEverything(t *testing.T) {
	t.Parallel()
	exact.Start(t)
	gocache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output() // by default it is in the other, too
	require.NoError(t, err)
	var one, other []byte
	var all errgroup.Group
	hashes := func(to *[]byte, env ...string) {
		all.Go(func() (err error) {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(append(cmd.Environ(), "PRINT_HASHES=1"), env...)
			cmd.Stderr = t.Output()
			*to, err = cmd.Output()
			return err
		})
	}
	hashes(&one, "GOMAXPROCS=1")
	hashes(&other, "WHOLE=1", "GOMAXPROCS=3", "XDG_CACHE_HOME="+t.TempDir(), "GOCACHE="+strings.TrimSpace(string(gocache)))
	require.NoError(t, all.Wait())
	assert.Equal(t, some+1, strings.Count(string(one), "\n"))
	assert.Equal(t, string(one), string(other))
}

// An order changes what happens, and a violation shows in every run of its order. What shrinks it finds the same every
// time.
func TestAViolationIsFoundAgainAndShrunk(t *testing.T) {
	t.Parallel()
	p := exact.Start(t)
	const lock = "restart guard off"
	const order = 1
	exactly := p.Playing(lock)
	n, found := controls.Find(lock)[0].Controls[0].Catch(t.Context(), exactly, order)
	require.NotNil(t, found)
	t.Logf("caught by schedule %d, seed %d", n, found.Schedule.Seed)
	s := found.Schedule
	play := func(order uint64) *simulation.Result {
		r, err := p.Play(exact.Job{Schedule: s, Lock: lock, Order: order, Whole: true})
		require.NoError(t, err)
		return r
	}
	first, again, other := play(order), play(order), play(order+1)
	assert.Equal(t, first, again)
	assert.Equal(t, first.Text, found.Report())
	assert.NotEqual(t, first.Hash, other.Hash)
	assert.Contains(t, first.Text, "VIOLATION (exclusion)")
	assert.Contains(t, first.Text, "timeline")

	small, in, last := simulation.Shrink(t.Context(), s, order, exactly, check.ByExclusion)
	require.NotNil(t, last, "nothing could be left out")
	assert.Contains(t, exactly(small, in).By(), check.ByExclusion, "it shows again, at once")
	assert.True(t, p.Playing("")(small, in).OK(), "and with the rule it does not")

	pinned, err := simulation.Parse([]byte(small.JSON()))
	require.NoError(t, err)
	assert.Equal(t, small, pinned)
}

func TestALockThatDoesNotExistIsAnError(t *testing.T) {
	t.Parallel()
	_, err := exact.Start(t).Play(exact.Job{Schedule: simulation.Draw(1), Lock: "rope"})
	require.ErrorContains(t, err, `no broken lock is called "rope"`)
}
