// Command testsummary runs go test with its arguments and ends with what did not run, and why.
//
//	go run ./internal/testsummary/cmd/testsummary -elsewhere "chaos: make chaos runs it" -- -race ./...
//
// Its exit status is that of go test.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/redlock-go/redlock/internal/testsummary"
)

func main() {
	var elsewhere []string
	flag.Func("elsewhere", "`line` about a suite that is known not to be a part of this run; may be repeated", func(line string) error {
		elsewhere = append(elsewhere, line)
		return nil
	})
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	status, err := testsummary.Run(ctx, "", flag.Args(), elsewhere, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(1)
	}
	os.Exit(status)
}
