package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/redlock-go/redlock/internal/embedded"
)

const devHelp = `dev runs masters in this process until it is interrupted, and prints their URLs
and the line that sets ` + mastersEnv + `. They are enough to develop against: they
keep nothing on disk, and are slow with many thousand keys.`

func devCommand() *cobra.Command {
	var nodes, port int
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run masters on this machine to develop against",
		Long:  devHelp,
		Example: "  redlock dev --port 7001\n" +
			"  export REDLOCK_MASTERS=redis://127.0.0.1:7001,…   # in another terminal",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if nodes != 1 && (nodes < 3 || nodes%2 == 0) {
				return usage("--nodes %d: it must be 1, or odd and at least 3", nodes)
			}
			if port < 0 || port+nodes-1 > 65535 {
				return usage("--port %d: with %d masters it must be from 1 to %d, or 0 for free ones", port, nodes, 65536-nodes)
			}
			return dev(cmd, nodes, port)
		},
	}
	cmd.Flags().IntVar(&nodes, "nodes", embeddedCount, "how many masters: 1, or odd and at least 3")
	cmd.Flags().IntVar(&port, "port", 0, "port of the first master, the others follow it (default: free ones)")
	return cmd
}

func dev(cmd *cobra.Command, nodes, port int) error {
	ends := slices.DeleteFunc(slices.Clone(endSignals), func(s os.Signal) bool {
		return s == syscall.SIGHUP && signal.Ignored(s) // nohup; but a SIGINT counts in the background of a script, too
	})
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	addrs := make([]string, nodes)
	for i := range addrs {
		if port > 0 {
			addrs[i] = fmt.Sprintf("127.0.0.1:%d", port+i)
		}
	}
	all, err := embedded.OpenAt(addrs...)
	if err != nil {
		return &exit{1, fmt.Errorf("%w; without --port, free ports are used", err)}
	}
	defer embedded.CloseAll(all)
	urls := embedded.URLs(all)
	err = emit(ctx, cmd.OutOrStdout(),
		strings.Join(urls, "\n")+"\n\n"+exportLine(mastersEnv, strings.Join(urls, ","))+"\n")
	if err != nil {
		return err
	}
	stderr.say(fmt.Sprintf("\n%d masters run until Ctrl-C", nodes))
	<-ctx.Done()
	return nil
}

// exportLine is what a user pastes into the other terminal.
func exportLine(name, value string) string {
	if runtime.GOOS == "windows" {
		return fmt.Sprintf("$env:%s = %q", name, value)
	}
	return fmt.Sprintf("export %s=%s", name, value)
}
