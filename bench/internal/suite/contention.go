package suite

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/report"
)

const (
	defaultShapes  = "1x32,8x4"
	mostProcesses  = 64
	mostGoroutines = 1024
)

func pickShapes(list string) (all []report.Shape, err error) {
	for text := range strings.SplitSeq(list, ",") {
		p, g, _ := strings.Cut(strings.TrimSpace(text), "x")
		processes, err1 := strconv.Atoi(p)
		goroutines, err2 := strconv.Atoi(g)
		if err1 != nil || err2 != nil || processes < 1 || goroutines < 1 || processes > mostProcesses ||
			goroutines > mostGoroutines {
			return nil, fmt.Errorf(
				"-shapes %q: %q is not PROCESSESxGOROUTINES, such as 8x4, up to %dx%d",
				list,
				text,
				mostProcesses,
				mostGoroutines,
			)
		}
		all = append(all, report.Shape{Processes: processes, Goroutines: goroutines})
	}
	return all, nil
}

const (
	contentionTime, contentionSmoke = 8 * time.Second, time.Second
	contentionRamp                  = 300 * time.Millisecond
	contentionRounds                = 3 // maximum, since a round is long
)

func contentionPart(ctx context.Context, s *session) error {
	window, rounds := s.sliceOf(contentionTime, contentionSmoke), min(s.rounds, s.roundsFor(contentionRounds))
	all := peers.Filter(peers.Contenders(), s.contestants)
	s.progress.stage("contention: %d rounds, about %v", rounds,
		(time.Duration(rounds*len(all)*len(s.shapes)) * (window + time.Second)).Round(time.Second))
	at := map[string]*report.ContentionRow{}
	for _, shape := range s.shapes {
		for _, c := range all {
			row := &report.ContentionRow{Shape: shape, Contestant: c.Name, Masters: c.Masters}
			at[shape.String()+c.Name] = row
			s.report.Contention = append(s.report.Contention, row)
		}
	}
	for round := range rounds {
		s.progress.stage("contention: round %d of %d", round+1, rounds)
		for _, shape := range s.shapes {
			for i := range all {
				c := all[(i+round)%len(all)]
				if c.Masters > len(s.masters.URLs) {
					continue
				}
				s.progress.live("contention: %v on one name, %s", shape, c.Name)
				job := job{
					Contestant: c.Name,
					URLs:       s.masters.URLs,
					TTL:        s.ttl,
					Goroutines: shape.Goroutines,
					Ramp:       contentionRamp,
					Window:     window,
				}
				if err := addContentionRound(ctx, at[shape.String()+c.Name], job); err != nil {
					return fmt.Errorf("%v, %s: %w", shape, c.Name, err)
				}
			}
		}
	}
	s.progress.clear()
	return waitingCost(ctx, s)
}
