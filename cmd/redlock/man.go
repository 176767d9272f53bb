package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manCommand prints the manual page, for packages. make package-files writes it, and the completions, to packaging.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "man",
		Short:             "Print the manual page",
		Hidden:            true,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		Run:               func(cmd *cobra.Command, _ []string) { manual(cmd.OutOrStdout(), cmd.Root()) },
	}
}

// manual writes the help of all commands as one manual page.
func manual(to io.Writer, root *cobra.Command) {
	fmt.Fprintf(to, ".TH REDLOCK 1\n.SH NAME\nredlock \\- %s\n", roff(root.Short))
	fmt.Fprint(to, ".SH SYNOPSIS\n")
	var commands []*cobra.Command
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "completion" {
			commands = append(commands, c)
			fmt.Fprintf(to, ".B %s\n.br\n", roff(c.UseLine()))
		}
	}
	fmt.Fprintf(to, ".SH DESCRIPTION\n%s", paragraphs(root.Long))
	fmt.Fprint(to, ".SH COMMANDS\n")
	for _, c := range commands {
		text := c.Long
		if text == "" {
			text = c.Short + "."
		}
		fmt.Fprintf(to, ".SS %s\n%s", roff(c.UseLine()), paragraphs(text))
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				option(to, f)
			}
		})
		if c.Example != "" {
			fmt.Fprintf(to, ".PP\nExamples:\n.PP\n.nf\n%s\n.fi\n", roff(c.Example))
		}
	}
}

// option writes one flag with its help.
func option(to io.Writer, f *pflag.Flag) {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	kind, help := pflag.UnquoteUsage(f)
	if kind != "" {
		name += " " + kind
	}
	switch f.DefValue {
	case "", "false", "0", "0s", "[]": // none
	default:
		help += " (default: " + f.DefValue + ")"
	}
	fmt.Fprintf(to, ".TP\n.B %s\n%s\n", roff(name), roff(help))
}

// paragraphs returns a help text, whose paragraphs an empty line separates.
func paragraphs(text string) string {
	var b strings.Builder
	for p := range strings.SplitSeq(text, "\n\n") {
		b.WriteString(".PP\n" + roff(p) + "\n")
	}
	return b.String()
}

var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...")

// roff escapes a text. A line must not begin like a request.
func roff(text string) string {
	lines := strings.Split(roffEscapes.Replace(text), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
