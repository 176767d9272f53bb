// Command guest plays one job of package exact. It is compiled for wasip1 and run by its host.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/redlock-go/redlock/chaos/internal/exact"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

func main() {
	job, err := exact.Parse(os.Args)
	if err == nil {
		var r *simulation.Result
		if r, err = job.Play(); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(r)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		os.Exit(1)
	}
}
