package main

import "github.com/spf13/cobra"

const leadHelp = `lead waits until this process leads the election NAME, runs COMMAND, and resigns
when COMMAND ends.

When the leadership is lost, COMMAND and what it started get SIGTERM, and
SIGKILL after --grace; then lead campaigns again, and starts COMMAND again when
it leads. COMMAND finds the term in REDLOCK_FENCE: a number that is larger for
every later leader, for storage that refuses a smaller one. The leader holds a
mutex with a fencing token, so programs that use package election can be
candidates, too, and redlock status NAME shows who leads. Environment, process
groups and signals are as in redlock run.

The exit status is that of COMMAND when it ends by itself, or 128+n if signal n
ended COMMAND or the wait. Exit statuses of its own: 64 wrong usage, 69 no
majority of the masters because of a fault that waiting cannot fix, 70 when the
leadership is lost after a SIGTERM, or a signal arrives while COMMAND is being
stopped after a loss, 126 and 127 when COMMAND cannot be executed or found, 1
when --embedded cannot start its masters.`

const leadExample = `  redlock lead scheduler -- ./scheduler
  redlock lead --ttl 3s scheduler -- sh -c './scheduler --term "$REDLOCK_FENCE"'`

func leadCommand() *cobra.Command {
	f := runFlags{fence: true}
	cmd := &cobra.Command{
		Use:     "lead [flags] NAME -- COMMAND [ARG...]",
		Short:   "Run a command while this process leads",
		Long:    leadHelp,
		Example: leadExample,
		Args: func(cmd *cobra.Command, args []string) error {
			return f.check(cmd, args)
		},
		ValidArgsFunction:     completeCommand,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return lead(cmd, &f)
		},
	}
	f.flags(cmd)
	f.holdFlags(cmd)
	return cmd
}

func lead(cmd *cobra.Command, f *runFlags) error {
	r, err := newRunner(cmd, f)
	if err != nil {
		return err
	}
	defer r.close()
	for {
		again, err := r.once()
		if !again {
			return err
		}
		stderr.say(sentence(err) + "; campaigning again")
	}
}
