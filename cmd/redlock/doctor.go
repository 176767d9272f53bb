package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/doctor"
)

const doctorHelp = `doctor examines the masters, this host and the settings for about ten seconds.
It reports what is wrong, how bad that is, why it matters for a lock, and what
to type to fix it. On each master it acquires and releases locks on one scratch
name, and changes nothing else. Pass the --ttl, --max-ttl and
--node-timeout of your programs.

The exit status is 2 with a danger, 1 with a warning, 69 if no majority of the
masters could be examined, 74 if the output cannot be written, 0 otherwise.`

const (
	exitWarning = 1
	exitDanger  = 2

	doctorPause = 20 * time.Second // between two examinations
)

func doctorCommand() *cobra.Command {
	var m masters
	var asJSON, watching bool
	cmd := &cobra.Command{
		Use:                   "doctor [flags]",
		Short:                 "Examine the masters, and report what endangers a lock",
		Long:                  doctorHelp,
		Example:               "  redlock doctor\n  redlock doctor --json | jq -r '.findings[].id'",
		Args:                  noArgs,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := untilSignal()
			defer cancel()
			locker, stop, err := m.open(cmd)
			if err != nil {
				return err
			}
			defer stop()
			show := readable(asJSON, func(ctx context.Context, to io.Writer) error {
				return showFindings(ctx, to, locker, asJSON)
			})
			switch {
			case watching && asJSON:
				return repeat(ctx, doctorPause, func() error { return once(ctx, cmd.OutOrStdout(), show) })
			case !watching && !asJSON && term.IsTerminal(int(os.Stderr.Fd())):
				stderr.say("redlock: examining the masters for about ten seconds")
			}
			return onceOrWatch(ctx, cmd.OutOrStdout(), watching, doctorPause, show)
		},
	}
	m.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object; with --watch, one line per examination")
	cmd.Flags().BoolVar(&watching, "watch", false, "repeat the examination; without --json, needs a terminal")
	return cmd
}

// repeat calls show again after each pause until ctx ends. Errors of show end nothing, except one about the usage or
// the output.
func repeat(ctx context.Context, pause time.Duration, show func() error) error {
	for {
		if err := show(); ctx.Err() == nil {
			if code, message := outcome(err); code == exitUsage || code == exitOutput {
				return err
			} else if message != "" {
				stderr.say(message)
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}

// showFindings examines the masters and prints the report. The error has the exit status of the worst finding.
func showFindings(ctx context.Context, to io.Writer, locker *redlock.Locker, asJSON bool) error {
	report, err := doctor.Examine(ctx, locker)
	if err != nil && !errors.Is(err, redlock.ErrNoQuorum) {
		return exitFor(err)
	}
	if asJSON {
		printJSON(to, reportFindings(report), "")
	} else {
		printFindings(to, report)
	}
	if err != nil {
		return &exit{exitNoQuorum, errors.New("no majority of the masters could be examined")}
	}
	switch {
	case report.Summary.Dangers > 0:
		return &exit{exitDanger, nil}
	case report.Summary.Warnings > 0:
		return &exit{exitWarning, nil}
	default:
		return nil
	}
}

func printFindings(to io.Writer, report doctor.Report) {
	for _, f := range report.Findings {
		fmt.Fprint(to, f)
	}
	sum := report.Summary
	fmt.Fprintf(to, "%s, %s, %s; %d of %d masters examined\n", plural(sum.Dangers, "danger"),
		plural(sum.Warnings, "warning"), plural(sum.Notes, "note"), sum.Examined, sum.Masters)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
