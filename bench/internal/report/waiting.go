package report

import "fmt"

// A WaitingRow says how many commands callers make who wait for a holder that does nothing.
type WaitingRow struct {
	Kind   string         `json:"kind"`
	Behind string         `json:"behind"` // what the holder has
	Counts []WaitingCount `json:"counts"`
}

// WaitingCount is the number of commands a second, on all masters together, of so many waiters.
type WaitingCount struct {
	Waiters   int     `json:"waiters"`
	PerSecond float64 `json:"commands_per_second"`
}

func (r *Report) waitingSections() []section {
	if len(r.Waiting) == 0 {
		return nil
	}
	s := section{part: "contention", title: "callers of one process that wait for a holder that does nothing"}
	head := []string{"they wait for", "behind"}
	for _, c := range r.Waiting[0].Counts {
		head = append(head, fmt.Sprintf("commands/s, %d waiting", c.Waiters))
	}
	s.table = table{head}
	for _, row := range r.Waiting {
		cells := []string{row.Kind, row.Behind}
		for _, c := range row.Counts {
			cells = append(cells, single(c.PerSecond).format(0))
		}
		s.table = append(s.table, cells)
	}
	s.notes = append(s.notes, "commands: of all five masters together, those of scripts included, as INFO counts them")
	return []section{s}
}
