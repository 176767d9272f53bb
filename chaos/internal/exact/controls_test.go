package exact_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

var table = flag.String("table", "", "a file to which TestTableOfControls writes how soon each control is caught")

// TestTableOfControls writes after how many schedules each broken lock of the simulation is caught: natively, exactly
// without yields (order 0), and exactly in the orders 1 and 2. It takes ten minutes of a processor.
func TestTableOfControls(t *testing.T) {
	if *table == "" {
		t.Skip("it writes a table: name a file with -table")
	}
	p := player(t)
	out, err := os.Create(*table)
	require.NoError(t, err)
	defer out.Close()
	fmt.Fprintln(out, "| broken lock | native | exact, no yields | exact, order 1 | exact, order 2 |")
	fmt.Fprintln(out, "|---|---|---|---|---|")
	for _, c := range simulation.Controls() {
		row := "| " + c.Name
		count := func(play simulation.Play, order uint64) {
			inOrder := func(s simulation.Schedule) *simulation.Result { return play(s, order) }
			n, found := c.Catch(t.Context(), inOrder)
			if found == nil {
				row += fmt.Sprintf(" | not in %d", n)
				return
			}
			row += fmt.Sprintf(" | %d", n)
		}
		count(simulation.Natively(c.Open), 0)
		for order := range uint64(3) {
			exactly := func(s simulation.Schedule, order uint64) *simulation.Result {
				return p.Result(s, c.Name, order)
			}
			count(exactly, order)
		}
		fmt.Fprintln(out, row+" |")
	}
}
