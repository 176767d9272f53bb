// Command chaos proves the lock, or shows where it breaks: real masters are killed, frozen and restarted under client
// processes that are killed and frozen themselves, and checkers judge the history. It also proves the checkers, on a
// lock that they must catch. See README.md beside it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/redlock-go/redlock/chaos/backend"
	"github.com/redlock-go/redlock/chaos/report"
	"github.com/redlock-go/redlock/chaos/scenarios"
	"github.com/redlock-go/redlock/chaos/traffic"
)

// Exit statuses.
const (
	good     = 0
	violated = 1 // a checker found something, or a control was not caught
	noRun    = 2 // there is no verdict: wrong usage, no masters, interrupted
)

// clientCommand makes this program a client process of itself.
const clientCommand = "client"

func main() {
	if len(os.Args) == 2 && os.Args[1] == clientCommand {
		if err := traffic.RunClient(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "chaos client:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	o, out, err := parse(args, stderr)
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
	o.Say = func(format string, args ...any) {
		fmt.Fprintf(stderr, "[%6.1fs] %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
	}
	folder := out
	if folder == "" {
		folder = filepath.Join("chaos-report", fmt.Sprintf("%s-%d", begin.Format("20060102-150405"), o.Seed))
	}
	if o.Dir, err = prepare(folder); err != nil {
		fmt.Fprintln(stderr, "chaos:", err)
		return noRun
	}

	o.Say("seed %d; again: %s", o.Seed, report.Replay(o))
	r, err := scenarios.Run(ctx, o)
	if err != nil {
		fmt.Fprintf(stderr, "chaos: no verdict: %v\nwhat there is, is in %s\n", err, o.Dir)
		return noRun
	}
	kept := o.Dir
	if r.Good() && out == "" {
		if err := discard(o.Dir); err == nil {
			kept = ""
		}
	}
	if err := tell(stdout, o, r, kept); err != nil {
		fmt.Fprintln(stderr, "chaos:", err)
		return noRun
	}
	if !r.Good() {
		return violated
	}
	return good
}

func parse(args []string, stderr io.Writer) (o scenarios.Options, out string, err error) {
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.Usage = func() {}
	usage := func() {
		fmt.Fprintln(stderr, "Usage: go run ./chaos [flags]\n\nKills, freezes and restarts masters and clients, and checks what the lock promises. Exit status: 0 when everything\nheld and the control was caught, 1 when not, 2 when there is no verdict.")
		fmt.Fprintln(stderr)
		flags.SetOutput(stderr)
		flags.PrintDefaults()
	}
	flags.DurationVar(&o.Duration, "duration", 40*time.Second, "how long the storm lasts; control, windows and checks come on top, about half a minute; at least 20s")
	flags.IntVar(&o.Clients, "clients", 3, "how many client processes")
	flags.Uint64Var(&o.Seed, "seed", 0, "repeats the faults of a run (default: a new one)")
	flags.StringVar(&o.Backend, "backend", backend.Containers, "where the masters come from: "+strings.Join(backend.Names(), ", "))
	flags.StringVar(&out, "out", "", "folder to keep histories and logs in, empty or new (default: one below chaos-report, kept only if something is wrong)")
	flags.SetOutput(io.Discard) // Parse returns what it prints
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			usage()
		}
		return o, "", err
	}
	if flags.NArg() > 0 {
		return o, "", fmt.Errorf("unexpected argument %q: there are only flags, see -h", flags.Arg(0))
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64N(1_000_000_000) + 1
	}
	self, err := os.Executable()
	if err != nil {
		return o, "", err
	}
	o.Client = func() *exec.Cmd { return exec.Command(self, clientCommand) }
	return o, out, o.Check()
}

// prepare makes the folder, which must be empty: a second history in it would be read as part of the first.
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

// discard removes the folder, and the one above it if that is empty then.
func discard(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	_ = os.Remove(filepath.Dir(dir)) // another run's report may be in it
	return nil
}

// tell writes the report to w, and into the folder if there is one.
func tell(w io.Writer, o scenarios.Options, r scenarios.Result, folder string) error {
	if folder != "" {
		f, err := os.Create(filepath.Join(folder, "verdict.txt"))
		if err != nil {
			return err
		}
		if err := errors.Join(report.Text(f, o, r, folder), f.Close()); err != nil {
			return err
		}
	}
	return report.Text(w, o, r, folder)
}
