package report

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/redlock-go/redlock/bench/internal/peers"
)

var errSlower = errors.New("slower by more than the noise")

// A change is how one figure of ours differs between two runs.
type change struct {
	name     string
	old, now []float64
	factor   float64 // of the medians; above 1 is worse
	beyond   bool    // the noise: the rounds of the two runs do not overlap, and there are enough of them
}

const (
	minRounds = 3    // fewer rounds show no spread
	minFactor = 1.05 // a smaller difference is none, however sharp
)

// changed compares what two runs both have of ours. The ratios to a peer stand next to the times: they survive a change
// of machine. Five rounds that all lie above five others do so by chance once in 252.
func changed(old, now *Report) (all []change) {
	add := func(name string, higher bool, before, after []float64) {
		if len(before) == 0 || len(after) == 0 || spreadOf(before).Median == 0 || spreadOf(after).Median == 0 {
			return
		}
		was, is := spreadOf(before), spreadOf(after)
		c := change{name: name, old: before, now: after, factor: is.Median / was.Median}
		if higher {
			c.factor = 1 / c.factor
		}
		apart := is.Low > was.High || is.High < was.Low
		far := c.factor > minFactor || c.factor < 1/minFactor
		c.beyond = apart && far && min(len(before), len(after)) >= minRounds
		all = append(all, c)
	}
	for _, f := range now.Figures {
		higher, known := higherIsBetter(f.Name)
		if !known || !peers.Ours(f.Who) {
			continue
		}
		name := fmt.Sprintf("%s, %s, %s: ", f.Part, f.Case, f.Who)
		add(name+f.Name, higher, old.Find(f.Part, f.Case, f.Who, f.Name), f.Rounds)
		if l := layouts[f.Part]; l.ratio == f.Name {
			for _, base := range l.against {
				add(name+"× as fast as "+base, true, old.faster(f.Part, f.Case, f.Who, base),
					now.faster(f.Part, f.Case, f.Who, base))
			}
		}
	}
	return all
}

// verdict says what became of it.
func (c change) verdict() string {
	switch {
	case c.beyond && c.factor > 1:
		return "SLOWER"
	case c.beyond:
		return "better"
	}
	return "as before, within the noise"
}

// CompareFiles writes the changes between two reports. It returns an error if a figure got worse by more than the
// noise.
func CompareFiles(oldPath, newPath string, w io.Writer) error {
	old, err := ReadReport(oldPath)
	if err != nil {
		return err
	}
	now, err := ReadReport(newPath)
	if err != nil {
		return err
	}
	if old.Setup.CPU != now.Setup.CPU || old.Setup.CPUs != now.Setup.CPUs {
		fmt.Fprintln(w, "the two runs are from different machines: only the ratios compare")
	}
	for _, r := range []*Report{old, now} {
		fmt.Fprintf(w, "%s: %s\n", r.Setup.Started.Format("2006-01-02 15:04"), strings.Join(r.caveats(), "; "))
	}
	all := changed(old, now)
	if len(all) == 0 {
		return errors.New("the two runs have no figure in common")
	}
	t, slower := table{Rows: [][]string{{"figure", "old", "new", "× worse", ""}}}, []string(nil)
	for _, c := range all {
		t.Rows = append(t.Rows, []string{c.name, brief(c.old), brief(c.now), fmt.Sprintf("%.2f", c.factor), c.verdict()})
		if c.beyond && c.factor > 1 {
			slower = append(slower, c.name)
		}
	}
	t.write(w)
	if len(slower) > 0 {
		return fmt.Errorf("%w: %s", errSlower, strings.Join(slower, "; "))
	}
	return nil
}
