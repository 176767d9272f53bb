package report

import (
	"fmt"
	"io"
	"strings"
)

// A change is how one figure of ours differs between two runs.
type change struct {
	name     string
	old, new spread
	factor   float64 // of the medians; above 1 is worse
	beyond   bool    // the noise: the rounds of the two runs do not overlap, and there are enough of them
}

const (
	minRounds = 3    // fewer rounds show no spread
	minFactor = 1.05 // a smaller difference is none, however sharp
)

// changed compares what two runs both have. Five rounds that all lie above five others do so by chance once in 252.
func changed(old, now *Report) (all []change) {
	before := map[string]series{}
	for _, s := range old.allSeries() {
		before[s.key] = s
	}
	for _, s := range now.allSeries() {
		was, known := before[s.key]
		if !known {
			continue
		}
		c := change{name: s.key, old: spreadOf(was.values), new: spreadOf(s.values)}
		if c.old.Median == 0 || c.new.Median == 0 {
			continue
		}
		c.factor = c.new.Median / c.old.Median
		apart := c.new.Low > c.old.High || c.new.High < c.old.Low
		if s.higherIsBetter {
			c.factor = 1 / c.factor
		}
		far := c.factor > minFactor || c.factor < 1/minFactor
		c.beyond = apart && far && min(len(was.values), len(s.values)) >= minRounds
		if s.ours {
			all = append(all, c)
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
	return writeChanges(w, old, now)
}

func writeChanges(w io.Writer, old, now *Report) error {
	if old.Setup.CPU != now.Setup.CPU || old.Setup.CPUs != now.Setup.CPUs {
		fmt.Fprintln(w, "the two runs are from different machines: only the ratios compare")
	}
	for _, r := range []*Report{old, now} {
		fmt.Fprintf(w, "%s: %s\n", r.Setup.Started.Format("2006-01-02 15:04"), strings.Join(r.caveats(), "; "))
	}
	all := changed(old, now)
	if len(all) == 0 {
		return fmt.Errorf("the two runs have no figure in common")
	}
	t := table{{"figure", "old", "new", "× worse", ""}}
	var slower []string
	for _, c := range all {
		t = append(t, []string{c.name, c.old.brief(), c.new.brief(), fmt.Sprintf("%.2f", c.factor), c.verdict()})
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
