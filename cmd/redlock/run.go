package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlock-go/redlock"
)

const ownerFlag = "owner"

const runHelp = `run locks NAME, runs COMMAND, and unlocks NAME when COMMAND ends. A NAME that
begins with a dash comes after a -- of its own: run -- -x -- COMMAND.

COMMAND finds the name in REDLOCK_NAME, the lock's token in REDLOCK_TOKEN, and
with --fence the fencing token in REDLOCK_FENCE: a number that is larger for
every later holder, for storage that refuses a smaller one. REDLOCK_MASTERS is
not passed on, because it may have passwords; see --pass-masters. From the name,
the token and REDLOCK_OUTER, an inner redlock recognizes a lock for which it
would wait forever.

The exit status is that of COMMAND, or 128+n if signal n ended COMMAND or the
wait for the lock. COMMAND runs in a process group of its own; every signal that
can be caught is forwarded to the group, except SIGCHLD, SIGPIPE, SIGTTIN,
SIGTTOU, SIGURG, the SIGTSTP of a terminal, and a SIGINT or SIGHUP that was
ignored when redlock started, as under nohup. When the lock is lost, or redlock
is killed, COMMAND and what it started get SIGTERM, unless a SIGTERM was
forwarded before, and SIGKILL after --grace. After a loss another holder may
have the lock, so a COMMAND that must not overlap should stop at the SIGTERM, or
be run with --grace 0. The lock does not cover processes that COMMAND leaves in
the background when it ends.

Exit statuses of its own: 64 wrong usage (also if the holders of the semaphore
have another number of slots, or if an outer redlock holds NAME), 69 no majority
of the masters, 70 lock lost before COMMAND ended, 75 not acquired (or what
--skip-status says), 126 and 127 when COMMAND cannot be executed or found, 1
when --embedded cannot start its masters. It prints nothing unless something is
wrong or it waits for longer than a second (half a second on a terminal). If
nobody reads its messages, it drops them.`

const runExample = `  redlock run nightly-report -- ./report.sh --all
  redlock run --try --ttl 1m backup -- ./backup.sh   # not if one runs elsewhere
  redlock run --shared catalog -- ./read.sh   # with others that use --shared
  redlock run --fence report -- sh -c './publish.sh --fence "$REDLOCK_FENCE"'
  redlock run --slots 3 encoder -- ./encode.sh   # at most three at a time
  redlock run --try --min-hold 10s report -- ./job.sh   # just once
  redlock run --try --quiet --skip-status 0 nightly -- ./job.sh   # in cron
  redlock run --embedded demo -- echo "no Redis needed to try this"`

// runFlags are the flags of redlock run.
type runFlags struct {
	masters
	try         bool
	shared      bool
	fence       bool
	wait        time.Duration
	waits       bool // --wait was given
	maxHold     time.Duration
	minHold     time.Duration
	slots       int
	grace       time.Duration
	passMasters bool
	verbose     bool
	skipStatus  int
	quiet       bool

	name     string
	command  []string
	refusals refusals
}

func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:     "run [flags] NAME -- COMMAND [ARG...]",
		Short:   "Lock a name, run a command, unlock",
		Long:    runHelp,
		Example: runExample,
		Args: func(cmd *cobra.Command, args []string) error {
			return f.check(cmd, args)
		},
		ValidArgsFunction:     completeCommand,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd, &f)
		},
	}
	f.flags(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&f.try, "try", false, "do not wait for the lock")
	fl.BoolVar(&f.shared, "shared", false,
		"share the lock with other runs that use --shared; a run without it waits for all of them, and then runs alone")
	fl.BoolVar(&f.fence, "fence", false, "take a fencing token and pass it on in $"+fenceEnv)
	fl.DurationVar(&f.wait, "wait", 0, "how long to wait for the lock; 0: do not wait (default: as long as it takes)")
	fl.IntVar(&f.slots, "slots", 0, "let up to `n` run at the same time; all runs of NAME must have the same n")
	fl.IntVar(&f.skipStatus, "skip-status", exitNotAcquired,
		"exit with status `n` if NAME stays held by another, with --try or after --wait")
	fl.BoolVarP(&f.quiet, "quiet", "q", false,
		"say nothing while NAME is held by another: neither that redlock waits nor that it gives up")
	fl.DurationVar(&f.minHold, "min-hold", 0, "how long NAME stays locked at least, even if COMMAND ends earlier")
	f.holdFlags(cmd)
	return cmd
}

// holdFlags adds the flags about a command under a lock.
func (f *runFlags) holdFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.DurationVar(&f.maxHold, "max-hold", 0,
		"how long COMMAND may hold the lock; then the lock is lost (default: no limit)")
	fl.DurationVar(&f.grace, "grace", 5*time.Second,
		"how long COMMAND may take to end when the lock is lost or redlock is killed; then it is killed")
	settingFlag(cmd, ownerFlag, "`name` of the holder in redlock status and in the token (default: host:pid)")
	fl.BoolVar(&f.passMasters, passMasters, false,
		"pass $"+mastersEnv+" on to COMMAND, with the passwords in it")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "say on stderr what happens")
}

// completeCommand completes NAME -- COMMAND.
func completeCommand(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp // a name
	}
	return nil, cobra.ShellCompDirectiveDefault // a command and its files
}

// check sets the name and the command, and returns an error if they or the flags are invalid.
func (f *runFlags) check(cmd *cobra.Command, args []string) error {
	f.waits = cmd.Flags().Changed("wait")
	dash := cmd.ArgsLenAtDash()
	if dash == 0 { // a name that begins with a dash comes after a -- of its own
		dash = slices.Index(args, "--")
		if dash > 0 {
			args = slices.Delete(slices.Clone(args), dash, dash+1)
		}
	}
	form := "redlock " + cmd.Use
	switch {
	case len(args) == 0 || cmd.ArgsLenAtDash() == 0 && dash <= 0:
		return usage("a name is missing: %s", form)
	case dash < 0 && len(args) > 1:
		return usage("put -- between the name and the command: %s", form)
	case dash < 0 || dash == len(args):
		return usage("a command is missing: %s", form)
	case dash != 1:
		return usage("%q: there is one name before --: %s", args[:dash], form)
	case args[0] == "":
		return usage("the name is empty: %s", form)
	case f.skipStatus < 0 || f.skipStatus > 255:
		return usage("--skip-status %d: it must be from 0 to 255", f.skipStatus)
	case f.quiet && f.verbose:
		return usage("--quiet says less, --verbose says more: use one of them")
	case f.try && f.wait > 0:
		return usage("--try does not wait, --wait does: use one of them")
	case f.wait < 0:
		return usage("--wait %v: it must not be negative", f.wait)
	case cmd.Flags().Changed("slots") && f.slots < 1:
		return usage("--slots %d: it must be at least 1", f.slots)
	case f.slots > 0 && f.shared:
		return usage("--slots limits how many run, --shared does not: use one of them")
	case f.minHold < 0:
		return usage("--min-hold %v: it must not be negative", f.minHold)
	case f.maxHold < 0:
		return usage("--max-hold %v: it must not be negative", f.maxHold)
	case f.grace < 0:
		return usage("--grace %v: it must not be negative", f.grace)
	}
	f.name, f.command = args[0], args[1:]
	return nil
}

func run(cmd *cobra.Command, f *runFlags) error {
	r, err := newRunner(cmd, f)
	if err != nil {
		return err
	}
	defer r.close()
	_, err = r.once()
	return err
}

// runner runs a command under locks.
type runner struct {
	flags   *runFlags
	path    string // of the command
	locker  *redlock.Locker
	signals *caught
	log     *slog.Logger
	close   func()
}

// newRunner opens a Locker as the flags say, and catches signals. close must be called.
func newRunner(cmd *cobra.Command, f *runFlags) (*runner, error) {
	path, err := findCommand(f.command[0])
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.DiscardHandler)
	if f.verbose {
		log = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	opts := []redlock.Option{redlock.WithLogger(log), redlock.WithMaxHold(f.maxHold), redlock.WithMinHold(f.minHold)}
	if f.fence {
		opts = append(opts, redlock.WithFencing())
	}
	if owner := setting(cmd, ownerFlag); owner != "" {
		opts = append(opts, redlock.WithOwner(owner))
	}
	locker, stop, err := f.open(cmd, append(opts, redlock.WithTrace(&redlock.Trace{Vote: f.refusals.note}))...)
	if err != nil {
		return nil, err
	}
	signals := catchSignals(commandSignals())
	surviveBrokenPipes()
	return &runner{
		flags: f, path: path, locker: locker, signals: signals, log: log,
		close: func() {
			signals.stop() // nothing is held any more
			stop()
		},
	}, nil
}

// once locks the name, runs the command and unlocks. again reports that the command ended because the lock was lost,
// and that no signal has asked this process to end.
func (r *runner) once() (again bool, err error) {
	lock, err := acquire(r.locker, r.flags, r.flags.name, r.signals)
	if err != nil {
		return false, err
	}
	r.signals.catchStop()
	r.log.Info("locked", "name", lock.Name(), "token", lock.Token(), "fence", lock.Fence(), "until", lock.Until())
	h := holder{locker: r.locker, lock: lock, flags: r.flags, signals: r.signals, log: r.log}
	err = h.run(r.path, r.flags.command)
	return h.lost && !h.toldEnd, err
}

// findCommand returns the path of a command, so that a missing command is an error before anything is locked.
func findCommand(command string) (string, error) {
	path, err := exec.LookPath(command)
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR):
		return "", &exit{exitNotExecutable, fmt.Errorf("%s cannot be executed: %w", command, err)}
	case errors.Is(err, exec.ErrDot):
		return "", &exit{exitNotFound, fmt.Errorf("%s is in the current directory only: run ./%s", command, command)}
	default:
		return "", &exit{exitNotFound, fmt.Errorf("%s: command not found", command)}
	}
}
