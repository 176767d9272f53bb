package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// setting returns the value of a flag, or that of its environment variable if the flag was not given.
func setting(cmd *cobra.Command, flag string) string {
	if f := cmd.Flags().Lookup(flag); f.Changed {
		return f.Value.String()
	}
	return os.Getenv(variable(flag))
}

// variable returns the name of the environment variable of a flag: --tls-ca has REDLOCK_TLS_CA.
func variable(flag string) string {
	return "REDLOCK_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// settingFlag adds a flag that also has an environment variable.
func settingFlag(cmd *cobra.Command, flag, help string) {
	cmd.Flags().String(flag, "", help+" [$"+variable(flag)+"]")
}

// fromEnvironment sets a flag that was not given to the value of its environment variable, if that is set.
func fromEnvironment(cmd *cobra.Command, flag string) error {
	value := setting(cmd, flag)
	if value == "" || cmd.Flags().Changed(flag) {
		return nil
	}
	if err := cmd.Flags().Set(flag, value); err != nil {
		return usage("$%s: %w", variable(flag), err)
	}
	return nil
}
