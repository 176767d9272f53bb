// Command testsummary runs go test with its arguments and ends with what did not run, and why.
//
//	go run ./internal/testsummary/cmd/testsummary -elsewhere "chaos: make chaos runs it" -- -race ./...
//
// Its exit status is that of go test. With -again 3, each of up to five tests that failed is run three times more, alone, and if all of
// that passes, the status is 0, and the last line names them.
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
	o := testsummary.Options{Out: os.Stdout, Progress: os.Stderr}
	flag.Func("elsewhere", "`line` about a suite that is known not to be a part of this run; may be repeated", func(line string) error {
		o.Elsewhere = append(o.Elsewhere, line)
		return nil
	})
	flag.IntVar(&o.Again, "again", 0, "run each of up to five tests that failed `N` times more, alone, and fail only if one of them does")
	flag.Func("except", "the `package`, as the summary names it, whose tests are not run again; may be repeated", func(name string) error {
		o.Except = append(o.Except, name)
		return nil
	})
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	status, err := testsummary.Run(ctx, flag.Args(), o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(1)
	}
	os.Exit(status)
}
