package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

const rootHelp = `redlock locks a name on a majority of independent Redis masters.

The masters come from --masters or --masters-file, or from the environment
variable REDLOCK_MASTERS or REDLOCK_MASTERS_FILE, as URLs separated by commas.

Exit statuses: 64 wrong usage, 69 no majority of the masters, 70 lock lost
before COMMAND ended, or TOKEN not found by release, 74 when status, doctor or
dev cannot write its output, 75 not acquired (or what --skip-status says), 126
and 127 when COMMAND cannot be executed or found, 128+n when signal n ended the
wait for the lock, status, release or doctor (0 with --watch), 1 when dev or
--embedded cannot start its masters. doctor also exits with 1 or 2 for what it
found. Any other status is that of COMMAND.`

// helpColumns is the width of every help text.
const helpColumns = 80

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "redlock",
		Short:         "A quorum lock over independent Redis masters",
		Long:          rootHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(cmd.ErrOrStderr())
			_ = cmd.Help()
			return usage("which command? For example: redlock run NAME -- COMMAND")
		},
	}
	build, _ := debug.ReadBuildInfo()
	root.Version = versionLine(build)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(),
		".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", helpColumns)))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%w\nsee %s --help; a NAME that begins with a dash comes after --", err, cmd.CommandPath())
	})
	root.AddCommand(
		runCommand(), leadCommand(), statusCommand(), releaseCommand(), doctorCommand(), devCommand(), versionCommand(),
		manCommand(),
	)
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		for _, shell := range c.Commands() { // cobra's text for bash has a line that is too long
			shell.Long = strings.ReplaceAll(shell.Long, "already, you can", "already,\nyou can")
		}
	}
	return root
}
