// Package suite runs what the command line of chaos asks for: scenarios, controls, simulated schedules, or all of them.
// It prints the verdicts, and keeps them in a file.
package suite

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/controls"
	"github.com/redlock-go/redlock/chaos/internal/exact"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
)

// Exit statuses.
const (
	good     = 0
	violated = 1 // something was not as promised, or a control was not caught
	noRun    = 2 // there is no verdict: wrong usage, no masters, interrupted
)

// ClientCommand is the only argument of a process of this program that is a client of the lock.
const ClientCommand = "client"

// Main runs the program with these arguments, and returns its exit status.
func Main(args []string, stdout, stderr io.Writer) int {
	f, err := parse(args, stderr)
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return good
		}
		fmt.Fprintln(stderr, "chaos:", err)
		return noRun
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	begin := time.Now()
	c := &command{
		flags: f, out: stdout,
		say: func(format string, args ...any) {
			fmt.Fprintf(stderr, "[%6.1fs] %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
		},
	}
	err = c.run(ctx)
	if err != nil {
		fmt.Fprintf(stderr, "chaos: no verdict: %v\n", err)
	}
	status := c.status(err)
	switch status {
	case good:
		fmt.Fprintln(stdout, "PASS")
	case violated:
		fmt.Fprintln(stdout, "FAIL")
	}
	return status
}

// status returns the exit status of a run. A violation outweighs a missing verdict.
func (c *command) status(err error) int {
	switch {
	case len(c.wrong) > 0:
		return violated
	case err != nil:
		return noRun
	default:
		return good
	}
}

// command is one run of the program.
type command struct {
	flags   flags
	out     io.Writer
	say     func(format string, args ...any)
	dir     string
	virtual int      // schedules of scenarios that were played in virtual time
	wrong   []string // what was not as promised, was not caught or failed: a text each, repeated at the end

	exactly func() (*exact.Player, error) // opens the player of exact runs when it is first needed
}

func (c *command) run(ctx context.Context) (err error) {
	f := c.flags
	defaultFolder := filepath.Join("chaos-report", fmt.Sprintf("%s-%d", time.Now().Format("20060102-150405"), f.seed))
	if c.dir, err = prepare(cmp.Or(f.out, defaultFolder)); err != nil {
		return err
	}
	verdicts, err := os.Create(filepath.Join(c.dir, verdictsFile))
	if err != nil {
		return err
	}
	c.out = io.MultiWriter(c.out, verdicts)
	c.say("seed %d; reports go to %s", f.seed, c.dir)
	c.exactly = sync.OnceValues(func() (*exact.Player, error) {
		p, err := exact.Open(ctx, c.say)
		if err == nil {
			c.say("exact runs: program %s", p.Program)
		}
		return p, err
	})
	defer func() {
		if err != nil {
			fmt.Fprintf(c.out, "no verdict: %v\n", err)
		}
		if len(c.wrong) > 0 {
			fmt.Fprintf(c.out, "not as it should be:\n%s\n", strings.Join(c.wrong, "\n"))
		}
		if err != nil || len(c.wrong) > 0 {
			fmt.Fprintf(c.out, "again: %s\n", f.again(f.seed))
		}
		fmt.Fprintf(c.out, "report: %s\n", verdicts.Name())
		err = errors.Join(err, verdicts.Close())
	}()
	switch {
	case f.everything():
		return c.profile(ctx)
	case len(f.masters) > 0:
		return c.play(ctx, []scenarios.Job{{Scenario: f.adjust(scenarios.Acceptance()), Backend: backend.Given}}, 1)
	case len(f.controls) > 0:
		return c.all(ctx, c.steps(controls.Find(f.controls...)))
	case len(f.tests) > 0:
		return c.tests(ctx)
	case f.exact && f.schedules*f.orders == 1:
		return c.one()
	case len(f.scenarios) > 0:
		return c.play(ctx, c.jobs(), f.parallelism)
	default:
		return c.simulate(ctx, f.schedules)
	}
}

// verdictsFile is the name of the file, in the folder of the run, with all that was printed.
const verdictsFile = "verdicts.txt"

// client returns a command that runs this program as a client.
func (c *command) client() *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return exec.Command(self, ClientCommand)
}

// prepare creates the folder. It fails if the folder is not empty, because a second history would be read as part of
// the first.
func prepare(folder string) (string, error) {
	path, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("the folder %s is not empty: name another with -out, or empty it", path)
	}
	return path, nil
}
