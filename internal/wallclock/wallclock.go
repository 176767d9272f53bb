// Package wallclock moves the wall clock of one server only: a library that is preloaded into it returns
// another time of day than the machine's, by settings in a file that can be changed while the server runs.
package wallclock

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
)

//go:embed lib/wallclock.c
var source string

// EnvFile names the environment variable with the path of the settings, for the library.
const EnvFile = "REDLOCK_WALLCLOCK"

// Available returns nil if the library can be built and preloaded here, or else says what is missing.
func Available() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("a clock of its own for a server needs LD_PRELOAD, and this is %s", runtime.GOOS)
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		return errors.New("a clock of its own for a server needs gcc to build a library: apt-get install gcc libc6-dev")
	}
	return nil
}

// Build makes the library, in the file to.
func Build(ctx context.Context, to string) error {
	if err := Available(); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-x", "c", "-o", to, "-")
	cmd.Stdin = strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the clock library: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// Clock is the settings of one server's clock. Its methods may be called concurrently. It starts as the machine's time.
type Clock struct {
	file string

	mu      sync.Mutex
	version int64
	offset  time.Duration
	since   time.Time
	rate    float64
}

// New makes a clock with its settings in a file of that folder. Who may read the folder may read the file.
func New(dir string) (*Clock, error) {
	c := &Clock{file: filepath.Join(dir, "wallclock"), since: clock.System.Now()}
	if err := os.WriteFile(c.file, make([]byte, size), 0o644); err != nil {
		return nil, err
	}
	return c, os.Chmod(c.file, 0o644)
}

// File is where the settings are, for [EnvFile].
func (c *Clock) File() string { return c.file }

// Jump sets the clock forward, or back, by d.
func (c *Clock) Jump(d time.Duration) error { return c.change(func() { c.offset += d }) }

// Run has the clock gain rate seconds a second from now on: 0 is the machine's pace. It does not jump.
func (c *Clock) Run(rate float64) error { return c.change(func() { c.rate = rate }) }

// Offset is by how much the clock is ahead of the machine's.
func (c *Clock) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at(clock.System.Now())
}

func (c *Clock) at(now time.Time) time.Duration {
	return c.offset + time.Duration(c.rate*float64(now.Sub(c.since)))
}

const size = 4 * 8

// change writes new settings so that a reader sees either all of the old or all of the new ones.
func (c *Clock) change(set func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := clock.System.Now()
	c.offset, c.since = c.at(now), now
	set()
	f, err := os.OpenFile(c.file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	c.version += 2
	write := func(at int64, values ...int64) error {
		var b []byte
		for _, v := range values {
			b = binary.NativeEndian.AppendUint64(b, uint64(v))
		}
		_, err := f.WriteAt(b, at)
		return err
	}
	return errors.Join(
		write(0, c.version-1),
		write(8, c.offset.Microseconds(), c.since.UnixMicro(), int64(c.rate*1e6)),
		write(0, c.version),
	)
}
