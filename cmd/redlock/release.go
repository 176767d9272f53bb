package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/redlock-go/redlock"
)

const releaseHelp = `release deletes the lock on NAME that has TOKEN, whatever its kind, on every
master that has it. It is for a holder that died or hangs. End the holder first:
otherwise it works without the lock, and may take the name again until it
notices. redlock status NAME shows the tokens. A TOKEN that begins with
min-hold: ends a minimum hold. Other holders of NAME keep it.

The exit status is 0 if a majority of the masters confirmed the release, 69 if
too few answered (the others may keep the lock until its TTL ends: run release
again), 70 if a majority does not have TOKEN, 64 for wrong usage, and 128+n if
signal n ended the wait.`

func releaseCommand() *cobra.Command {
	var m masters
	cmd := &cobra.Command{
		Use:                   "release [flags] NAME TOKEN",
		Short:                 "Release the lock of a holder that is gone",
		Long:                  releaseHelp,
		Example:               "  redlock release nightly-report web-3:8812:c7e712f4b461a02e99cf9ca0c613db0c",
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 || args[0] == "" || args[1] == "" {
				return usage("a name and a token are needed: redlock %s; redlock status NAME shows the tokens", cmd.Use)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := untilSignal()
			defer cancel()
			locker, stop, err := m.open(cmd)
			if err != nil {
				return err
			}
			err = locker.Release(ctx, args[0], args[1])
			if interrupted := context.Cause(ctx); interrupted != nil && err != nil {
				return interrupted // without stop, which waits for the masters
			}
			stop()
			return notReleased(args[0], err)
		},
	}
	m.flags(cmd)
	return cmd
}

// notReleased returns the exit for an error of Release; nil if there is none.
func notReleased(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, redlock.ErrLost):
		return &exit{exitLost, fmt.Errorf("a majority of the masters does not have the token for %s: "+
			"redlock status %[1]s shows who holds it", quote(name))}
	case errors.Is(err, redlock.ErrNoQuorum):
		return &exit{exitNoQuorum, fmt.Errorf("the release of %s is not confirmed: %s; run it again when one does%s",
			quote(name), noMajority, perMaster(err))}
	default:
		return exitFor(err)
	}
}
