// Command chaos proves the lock, or shows where it breaks. It harms real masters while client processes use the lock
// and are harmed themselves, plays thousands of such schedules in virtual time, and has checkers judge the histories.
// It also proves the checkers, on locks that they must catch. See README.md in this directory.
package main

import (
	"fmt"
	"os"

	"github.com/redlock-go/redlock/chaos/internal/clients"
	"github.com/redlock-go/redlock/chaos/internal/suite"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == suite.ClientCommand {
		if err := clients.RunClient(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "chaos client:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(suite.Main(os.Args[1:], os.Stdout, os.Stderr))
}
