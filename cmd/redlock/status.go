package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/cobra"

	"github.com/redlock-go/redlock"
)

const statusHelp = `status without a name shows the masters: whether each answers, how fast, its
role and version, and whether it may vote now, or why not. With names it shows
who holds them, for how long, with which token, and what each master says. The
last fencing token of a name may be that of an earlier holder.

With --json, durations are in milliseconds (fields that end in _ms), and -1
means a key without a TTL. The exit status is 69 if no majority of the masters
may vote, or, with names, answers, and 74 if the output cannot be written.`

const statusExample = `  redlock status
  redlock status --watch nightly-report
  redlock status --json nightly-report | jq '.locks[0].holders[0].left_ms'`

func statusCommand() *cobra.Command {
	var m masters
	var asJSON, watching bool
	cmd := &cobra.Command{
		Use:               "status [flags] [NAME...]",
		Short:             "Show who holds what; without a name, the masters",
		Long:              statusHelp,
		Example:           statusExample,
		ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(_ *cobra.Command, names []string) error {
			for _, n := range names {
				if n == "" {
					return usage("a name is empty")
				}
			}
			return nil
		},
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, names []string) error {
			if watching && asJSON {
				return usage("--watch shows a table, --json prints once: use one of them")
			}
			ctx, cancel := untilSignal()
			defer cancel()
			locker, stop, err := m.open(cmd)
			if err != nil {
				return err
			}
			defer stop()
			show := func(ctx context.Context, to io.Writer) error { return showMasters(ctx, to, locker, asJSON) }
			if len(names) > 0 {
				show = func(ctx context.Context, to io.Writer) error { return showLocks(ctx, to, locker, names, asJSON) }
			}
			return onceOrWatch(ctx, cmd.OutOrStdout(), watching, watchEvery, readable(asJSON, show))
		},
	}
	m.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&watching, "watch", false, "refresh the table every two seconds, on a terminal")
	return cmd
}

func showMasters(ctx context.Context, to io.Writer, locker *redlock.Locker, asJSON bool) error {
	nodes, err := locker.Nodes(ctx)
	if err != nil && !errors.Is(err, redlock.ErrNoQuorum) {
		return exitFor(err)
	}
	report := reportMasters(nodes)
	if asJSON {
		printJSON(to, report, "  ")
	} else {
		report.print(to, nodes)
	}
	if err != nil {
		return &exit{exitNoQuorum, errors.New("no majority of the masters may vote: nothing can be locked now")}
	}
	return nil
}

func showLocks(ctx context.Context, to io.Writer, locker *redlock.Locker, names []string, asJSON bool) error {
	var report locksReport
	var failed error
	for _, name := range names {
		holding, err := locker.Inspect(ctx, name)
		if err != nil {
			if !errors.Is(err, redlock.ErrNoQuorum) {
				return exitFor(err)
			}
			failed = err
		}
		holding.Name = name
		report.Locks = append(report.Locks, reportLock(holding, err))
	}
	if asJSON {
		printJSON(to, report, "  ")
	} else {
		report.print(to)
	}
	if failed != nil {
		return &exit{exitNoQuorum, fmt.Errorf("%s: %s", noMajority, moreAbout(failed))}
	}
	return nil
}

// printJSON writes v, indented unless indent is empty. It also escapes characters that json.Encoder leaves as they are,
// but that a terminal obeys.
func printJSON(to io.Writer, v any, indent string) {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	var safe strings.Builder
	for _, r := range text.String() {
		if r == '\n' || unicode.IsPrint(r) {
			safe.WriteRune(r)
			continue
		}
		for _, half := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&safe, `\u%04x`, half)
		}
	}
	_, _ = io.WriteString(to, safe.String()) // to a buffer
}
