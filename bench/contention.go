package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A shape is how many processes, of how many goroutines each, want one name.
type shape struct {
	Processes  int `json:"processes"`
	Goroutines int `json:"goroutines"`
}

func (s shape) String() string { return fmt.Sprintf("%d × %d", s.Processes, s.Goroutines) }

const (
	defaultShapes  = "1x32,8x4"
	mostProcesses  = 64
	mostGoroutines = 1024
)

var (
	oneProcess     = shape{1, 32}
	eightProcesses = shape{8, 4}
)

func pickShapes(list string) (all []shape, err error) {
	for text := range strings.SplitSeq(list, ",") {
		p, g, _ := strings.Cut(strings.TrimSpace(text), "x")
		processes, err1 := strconv.Atoi(p)
		goroutines, err2 := strconv.Atoi(g)
		if err1 != nil || err2 != nil || processes < 1 || goroutines < 1 || processes > mostProcesses || goroutines > mostGoroutines {
			return nil, fmt.Errorf("-shapes %q: %q is not PROCESSESxGOROUTINES, such as 8x4, up to %dx%d", list, text, mostProcesses, mostGoroutines)
		}
		all = append(all, shape{processes, goroutines})
	}
	return all, nil
}

// contenders are those who can wait for a lock.
func contenders() []*contestant {
	return []*contestant{
		{Name: ours, Masters: quorumMasters, open: openRedlock, Setup: "redlock over five masters"},
		{Name: oursReleased, Masters: quorumMasters, open: openReleased,
			Setup: "the same WithoutHandOver"},
		{Name: peer, Masters: quorumMasters, open: openRedsync(false), Setup: "redsync over five masters, 32 tries 50 to 250 ms apart as by default, and on"},
		{Name: singleRueidis, Masters: 1, open: openRueidis, Setup: "rueidislock over one master"},
	}
}

func contender(name string) (*contestant, error) {
	found, err := pick(contenders(), name)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// contentionRow is one contestant in one shape.
type contentionRow struct {
	Shape      shape             `json:"shape"`
	Contestant string            `json:"contestant"`
	Masters    int               `json:"masters"`
	Rounds     []contentionRound `json:"rounds"`
}

type contentionRound struct {
	PerSecond  float64 `json:"acquisitions_per_second"`
	Waits      waits   `json:"waits"`
	Goroutines float64 `json:"slowest_by_fastest_goroutine"`
	Processes  float64 `json:"slowest_by_fastest_process"`
	Acquired   int64   `json:"acquired"`
	Overlaps   int64   `json:"overlaps"` // two goroutines of one process held the name at once
	Failed     int64   `json:"failed"`
	Failure    string  `json:"failure,omitempty"`
}

func (r *contentionRow) values(of func(contentionRound) float64) []float64 {
	all := make([]float64, len(r.Rounds))
	for i, round := range r.Rounds {
		all[i] = of(round)
	}
	return all
}

func perSecond(r contentionRound) float64 { return r.PerSecond }

const (
	contentionTime, contentionSmoke = 8 * time.Second, time.Second
	contentionRamp                  = 300 * time.Millisecond
	contentionRounds                = 3 // at most: a round is long
)

func contentionPart(ctx context.Context, s *session) error {
	window, rounds := s.sliceOf(contentionTime, contentionSmoke), min(s.rounds, s.roundsFor(contentionRounds))
	all := among(contenders(), s.only)
	s.progress.stage("contention: %d rounds, about %v", rounds,
		(time.Duration(rounds*len(all)*len(s.shapes)) * (window + time.Second)).Round(time.Second))
	at := map[string]*contentionRow{}
	for _, shape := range s.shapes {
		for _, c := range all {
			row := &contentionRow{Shape: shape, Contestant: c.Name, Masters: c.Masters}
			at[shape.String()+c.Name] = row
			s.report.Contention = append(s.report.Contention, row)
		}
	}
	for round := range rounds {
		s.progress.stage("contention: round %d of %d", round+1, rounds)
		for _, shape := range s.shapes {
			for i := range all {
				c := all[(i+round)%len(all)]
				if c.Masters > len(s.masters.urls) {
					continue
				}
				s.progress.live("contention: %v on one name, %s", shape, c.Name)
				job := job{Contestant: c.Name, URLs: s.masters.urls, TTL: s.ttl, Goroutines: shape.Goroutines, Ramp: contentionRamp, Window: window}
				if err := at[shape.String()+c.Name].measure(ctx, job); err != nil {
					return fmt.Errorf("%v, %s: %w", shape, c.Name, err)
				}
			}
		}
	}
	s.progress.clear()
	return nil
}
