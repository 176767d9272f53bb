package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/replyerr"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// The exit statuses of redlock itself, from BSD's sysexits where possible. doctor has two more, and dev and --embedded
// exit with 1 if their masters cannot be started. The command of run and lead may end with any status.
const (
	exitUsage         = 64  // wrong usage
	exitNoQuorum      = 69  // no majority of the masters
	exitLost          = 70  // the lock was lost before the command ended
	exitOutput        = 74  // the output could not be written
	exitNotAcquired   = 75  // another holder has the lock
	exitNotExecutable = 126 // as the shells have it
	exitNotFound      = 127
	exitSignal        = 128 // plus the signal's number
)

// exit is how a command of redlock ends: the status, and the error to print (nil: none).
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// outcome returns the exit status for what a command returned, and what to print. Errors that are not an exit come from
// the parser of flags and arguments.
func outcome(err error) (int, string) {
	if err == nil {
		return 0, ""
	}
	var e *exit
	if !errors.As(err, &e) {
		text := strings.TrimSpace(strings.ReplaceAll(err.Error(), "\t", "  ")) // an unknown command, with suggestions
		e = &exit{exitUsage, fmt.Errorf("%s\nsee redlock --help", text)}
	}
	if e.err == nil {
		return e.code, ""
	}
	return e.code, sentence(e.err)
}

// sentence returns the text that this program prints for an error.
func sentence(err error) string {
	return "redlock: " + inFlags(strings.TrimPrefix(err.Error(), "redlock: "))
}

func usage(format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...)}
}

// describeHeldError describes an ErrHeld, which does not name the holder.
func describeHeldError(err error) string {
	held := &redlock.HeldError{}
	errors.As(err, &held)
	text := "held by another"
	if held.Name != "" {
		text = quote(held.Name) + " is " + text
	}
	if held.Kind != "" {
		text += " (" + string(held.Kind) + ")"
	}
	return text
}

const noMajority = "no majority of the masters answered"

// exitFor returns the exit for an error of the library: what to do about it follows from what it matches.
func exitFor(err error) *exit {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, redlock.ErrHeld):
		return &exit{exitNotAcquired, errors.New(describeHeldError(err))}
	case errors.Is(err, redlock.ErrNoQuorum):
		return &exit{exitNoQuorum, fmt.Errorf("%s%s\n%s", noMajority, perMaster(err), moreAbout(err))}
	case errors.Is(err, redlock.ErrLost):
		return &exit{exitLost, err}
	default: // an invalid name, which is refused before any request; or a SlotsError, after the masters have answered
		return &exit{exitUsage, err}
	}
}

// moreAbout returns which command says more about the masters' errors in err. status asks for INFO alone, so for a
// request that the masters refuse it shows healthy masters: doctor says what to do.
func moreAbout(err error) string {
	failed := redlock.NodeErrors(err)
	if len(failed) > 0 && !slices.ContainsFunc(failed, inStatus) {
		return "redlock doctor says what to do"
	}
	return "redlock status shows them all"
}

// inStatus reports whether status shows the cause of a master's error: its connection, role or identity, or its restart
// window.
func inStatus(failed *redlock.NodeError) bool {
	if _, ok := failed.Err.(redis.Error); ok { //nolint:errorlint // a reply while connecting is wrapped, and in status
		return replyerr.HasPrefix(failed.Err, "LOADING", "READONLY")
	}
	return !errors.As(failed.Err, new(*node.RightError)) && !errors.Is(failed.Err, quorum.ErrSameServer)
}

// noArgs is cobra.NoArgs with an error that says what to do.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no arguments, but got %q\nsee %s --help", cmd.CommandPath(), args, cmd.CommandPath())
	}
	return nil
}
