package main

import (
	"fmt"
	"io"
	"strings"
)

// A change is how one figure of ours differs between two runs.
type change struct {
	what     string
	old, now spread
	factor   float64 // of the medians; above 1 is worse
	beyond   bool    // the noise: the rounds of the two runs do not overlap, and there are enough of them
}

const (
	roundsToTell = 3    // fewer rounds show no spread
	worthTelling = 1.05 // a smaller difference is none, however sharp
)

// changed compares what two runs both have. Five rounds that all lie above five others do so by chance once in 252.
func changed(old, now *report) (all []change) {
	before := map[string]series{}
	for _, s := range old.allSeries() {
		before[s.key] = s
	}
	for _, s := range now.allSeries() {
		was, known := before[s.key]
		if !known {
			continue
		}
		c := change{what: s.key, old: spreadOf(was.values), now: spreadOf(s.values)}
		if c.old.Median == 0 || c.now.Median == 0 {
			continue
		}
		c.factor = c.now.Median / c.old.Median
		apart := c.now.Low > c.old.High || c.now.High < c.old.Low
		if s.more {
			c.factor = 1 / c.factor
		}
		far := c.factor > worthTelling || c.factor < 1/worthTelling
		c.beyond = apart && far && min(len(was.values), len(s.values)) >= roundsToTell
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

// compareFiles writes what changed, and returns an error if something got worse by more than the noise.
func compareFiles(oldPath, newPath string, w io.Writer) error {
	old, err := readReport(oldPath)
	if err != nil {
		return err
	}
	now, err := readReport(newPath)
	if err != nil {
		return err
	}
	return writeChanges(w, old, now)
}

func writeChanges(w io.Writer, old, now *report) error {
	if old.Setup.CPU != now.Setup.CPU || old.Setup.CPUs != now.Setup.CPUs {
		fmt.Fprintln(w, "the two runs are from different machines: only the ratios compare")
	}
	for _, r := range []*report{old, now} {
		fmt.Fprintf(w, "%s: %s\n", r.Setup.Started.Format("2006-01-02 15:04"), strings.Join(r.caveats(), "; "))
	}
	all := changed(old, now)
	if len(all) == 0 {
		return fmt.Errorf("the two runs have no figure in common")
	}
	t := table{{"figure", "old", "new", "× worse", ""}}
	var slower []string
	for _, c := range all {
		t = append(t, []string{c.what, c.old.brief(), c.now.brief(), fmt.Sprintf("%.2f", c.factor), c.verdict()})
		if c.beyond && c.factor > 1 {
			slower = append(slower, c.what)
		}
	}
	t.write(w)
	if len(slower) > 0 {
		return fmt.Errorf("%w: %s", errSlower, strings.Join(slower, "; "))
	}
	return nil
}
