package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Print the version of redlock and of Go",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		Run: func(cmd *cobra.Command, _ []string) {
			printf(cmd, "%s\n", cmd.Root().Version)
		},
	}
}

// versionLine returns "redlock VERSION (REVISION) GO OS/ARCH" with what info knows; it may be nil.
func versionLine(info *debug.BuildInfo) string {
	version, revision, changed := "(devel)", "", ""
	if info != nil {
		if info.Main.Version != "" {
			version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && len(s.Value) >= 12:
				revision = s.Value[:12]
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = ", modified"
			}
		}
	}
	if revision != "" {
		version += " (" + revision + changed + ")"
	}
	return fmt.Sprintf("redlock %s %s %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
