package scenarios

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/edn"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/register"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// An environment is what a scenario needs to be played: clients, registers, and the harness's own history.
type environment struct {
	Options
	scenario  Scenario
	masters   masters
	prefix    string // of all names
	dir       string // of the histories
	log       *history.Writer
	fleet     *traffic.Fleet
	registers map[string]*register.Register
}

func newEnvironment(s Scenario, o Options, m masters) (_ *environment, err error) {
	dir, logs := filepath.Join(o.Dir, "parts"), filepath.Join(o.Dir, "logs")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.MkdirAll(logs, 0o755)); err != nil {
		return nil, err
	}
	st := &environment{
		Options:   o,
		scenario:  s,
		masters:   m,
		prefix:    m.Prefix(),
		dir:       dir,
		registers: map[string]*register.Register{},
	}
	if st.log, err = history.Create(filepath.Join(dir, "harness.jsonl"), history.NewClock()); err != nil {
		return nil, err
	}
	addresses := map[string]string{}
	for _, g := range s.Groups {
		if g.Register == "" || st.registers[g.Register] != nil {
			continue
		}
		r, err := register.Start(g.Register, filepath.Join(dir, "register-"+g.Register+".jsonl"))
		if err != nil {
			return nil, errors.Join(err, st.log.Close(), st.closeRegisters())
		}
		st.registers[g.Register], addresses[g.Register] = r, r.Addr()
	}
	st.fleet = &traffic.Fleet{
		Runner: o.Runner, Size: s.clients(), Dir: dir, Logs: logs, Log: st.log.Write,
		Configure: func(client int) traffic.Config {
			c := traffic.Config{
				Lock: cmp.Or(
					s.Lock,
					traffic.Quorum,
				),
				URLs:      m.URLs(),
				Window:    s.Window(),
				Prefix:    m.Prefix(),
				Groups:    s.Groups,
				Workers:   s.Workers,
				Registers: addresses,
				Seed:      o.Seed,
			}
			if client >= s.Clients {
				c.Lock = traffic.Redsync
			}
			if len(s.ClockRates) > 0 {
				c.ClockRate = s.ClockRates[client%len(s.ClockRates)]
			}
			return c
		},
	}
	return st, nil
}

func (s *environment) closeRegisters() error {
	var errs []error
	for _, kind := range slices.Sorted(maps.Keys(s.registers)) {
		errs = append(errs, s.registers[kind].Close())
	}
	return errors.Join(errs...)
}

// phase begins a phase of the run, and returns its time.
func (s *environment) phase(name string) time.Duration {
	now := s.log.Clock().Now()
	s.log.Write(history.Event{T: now, Kind: history.Phase, Phase: name})
	return now
}

// broken writes to the history that the harness itself failed.
func (s *environment) broken(err error) {
	if err != nil {
		s.log.Write(history.Event{Kind: history.Broken, Err: err.Error()})
	}
}

// close ends the clients, saves the whole history in one file, and returns it. On an error it returns the part that it
// has.
func (s *environment) close() ([]history.Event, error) {
	s.broken(errors.Join(s.fleet.Close(), s.closeRegisters()))
	closing := s.log.Close()
	events, err := history.ReadDir(s.dir)
	closing = errors.Join(closing, err, history.Save(filepath.Join(s.Dir, "history.jsonl"), events),
		edn.Save(filepath.Join(s.Dir, "history.edn"), events))
	if closing != nil {
		return events, closing // the parts are kept
	}
	return events, os.RemoveAll(s.dir)
}
