package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/clients"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/register"
	"github.com/redlock-go/redlock/chaos/internal/stalls"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// A player plays the phases of a scenario on real masters. It has the harness's own history, the registers, the client
// processes, and a nemesis for all of them.
type player struct {
	Options
	scenario  Scenario
	seed      uint64 // of the run
	masters   *backend.Backend
	plan      []faults.Step
	log       *history.Writer
	fleet     *clients.Fleet
	inspector backend.Inspector
	nemesis   *faults.Nemesis
	registers map[string]*register.Register // by kind
}

const (
	// longestStall is the longest stall of the harness with which a run still has a verdict. On a machine that stalls for
	// longer, clients may miss [Scenario.Bound], too.
	longestStall = 5 * time.Second
	// healthTimeout is how long a master or a client may take to work again when it was healed.
	healthTimeout = 15 * time.Second
	// logTimeout bounds the reading of all logs.
	logTimeout = 10 * time.Second
)

// play plays the scenario, judges the history, and saves it. It returns what it has of the history even if it could not
// be saved.
func play(ctx context.Context, s Scenario, o Options, out *Outcome, m *backend.Backend) ([]history.Event, error) {
	p := &player{Options: o, scenario: s, masters: m, seed: seedOf(o.Seed, s.Name+"-"+o.Backend)}
	if err := p.open(); err != nil {
		return nil, err
	}
	p.prepare(out)
	if len(s.Faults) > 0 && len(p.plan) == 0 {
		out.Skipped = strings.Join(out.Without, "; ")
		return nil, p.close(ctx)
	}
	var longest time.Duration
	unwatch := stalls.Watch(p.log.Clock(), cmp.Or(o.tolerated, longestStall), func(_, stall time.Duration) {
		longest = max(longest, stall)
	})
	err := p.run(ctx)
	unwatch()
	if ctx.Err() == nil { // an interrupted run is not broken, it has no verdict
		p.broken(err)
		if longest > 0 {
			p.broken(fmt.Errorf("it stood still for %v: the machine is too busy", longest.Round(time.Millisecond)))
		}
	}
	closing := p.close(ctx)
	events, err := history.ReadDir(p.parts())
	if ctx.Err() != nil || len(events) == 0 {
		return nil, errors.Join(ctx.Err(), closing, err)
	}
	out.Verdicts = p.judge(events) // they stand even if the history cannot be saved
	err = errors.Join(closing, err, history.Save(filepath.Join(o.Dir, "history.jsonl"), events))
	if err != nil {
		return events, err // the parts are kept
	}
	return events, os.RemoveAll(p.parts())
}

// parts is the folder of the histories that each process writes for itself, logs that of the logs.
func (p *player) parts() string { return filepath.Join(p.Dir, "parts") }
func (p *player) logs() string  { return filepath.Join(p.Dir, "logs") }

// open opens what the run needs besides the masters. No client runs yet.
func (p *player) open() (err error) {
	if err := errors.Join(os.MkdirAll(p.parts(), 0o755), os.MkdirAll(p.logs(), 0o755)); err != nil {
		return err
	}
	if p.log, err = history.Create(filepath.Join(p.parts(), "harness.jsonl"), history.NewClock()); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.closeAll())
		}
	}()
	if p.inspector, err = p.masters.NewInspector(); err != nil {
		return err
	}
	config := traffic.Config{
		Lock: p.scenario.Lock, URLs: p.masters.URLs, MaxTTL: p.scenario.maxTTL(), Prefix: p.masters.Prefix,
		Groups: p.scenario.Groups, Seed: p.seed, Registers: map[string]string{},
	}
	p.registers = map[string]*register.Register{}
	for _, g := range p.scenario.Groups {
		if kind := g.Register; kind != "" && p.registers[kind] == nil {
			r, err := register.Start(kind, filepath.Join(p.parts(), "register-"+kind+".jsonl"))
			if err != nil {
				return err
			}
			p.registers[kind], config.Registers[kind] = r, r.Addr()
		}
	}
	p.fleet = &clients.Fleet{
		Command: p.Command, Size: p.scenario.Clients, Dir: p.parts(), Logs: p.logs(), Log: p.log.Write,
		Config: config,
	}
	p.nemesis = &faults.Nemesis{
		Healthy: p.healthy, HealthTimeout: healthTimeout, Log: p.log.Write, Say: p.Say,
	}
	if p.nemesis.Faults = faults.Of(nil, p.fleet); p.masters.Ours() {
		p.nemesis.Faults = faults.Of(p.masters, p.fleet)
	}
	return nil
}

func (p *player) healthy(ctx context.Context, on faults.Side, target int) error {
	if on == faults.Clients {
		return p.fleet.Healthy(target)
	}
	return p.inspector.Ping(ctx, target)
}

// now returns the time on the clock of the history.
func (p *player) now() time.Duration { return p.log.Clock().Now() }

// phase begins a phase of the run, and returns its time.
func (p *player) phase(name string) time.Duration {
	now := p.now()
	p.log.Write(history.Event{T: now, Kind: history.Phase, Phase: name})
	return now
}

// broken writes to the history that the harness itself failed, unless err is nil.
func (p *player) broken(err error) {
	if err != nil {
		p.log.Write(history.Event{Kind: history.Broken, Err: err.Error()})
	}
}

// close ends the clients and the registers, and saves the logs of the masters. Failures of clients and registers are
// written to the history. A log that cannot be saved is only reported.
func (p *player) close(ctx context.Context) error {
	p.broken(p.fleet.Close())
	p.saveLogs(ctx)
	return p.closeAll()
}

func (p *player) closeAll() error {
	for _, r := range p.registers {
		p.broken(r.Close())
	}
	return errors.Join(p.inspector.Close(), p.log.Close())
}

func (p *player) saveLogs(ctx context.Context) {
	if !p.masters.Ours() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logTimeout)
	defer cancel()
	for i := range p.masters.Masters() {
		text, err := p.masters.Log(ctx, i)
		if err != nil {
			text += "\n(the log could not be read: " + err.Error() + ")\n"
		}
		path := filepath.Join(p.logs(), fmt.Sprintf("master-%d.log", i))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			p.Say("the log of master %d is not kept: %v", i, err)
		}
	}
}

// prepare draws the plan from the faults that are available.
func (p *player) prepare(out *Outcome) {
	s := p.scenario
	var available []string
	missing := map[string][]string{} // faults, by the reason
	for _, f := range p.nemesis.Faults {
		switch {
		case !slices.Contains(s.Faults, f.Name):
		case f.Available == nil:
			available = append(available, f.Name)
		default:
			missing[f.Available.Error()] = append(missing[f.Available.Error()], f.Name)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(missing)) {
		out.Without = append(out.Without, fmt.Sprintf("without %s: %s", strings.Join(missing[why], ", "), why))
		p.Say("%s", out.Without[len(out.Without)-1])
	}
	if len(available) > 0 {
		p.plan = faults.Plan(p.seed, s.terms(p.masters.Masters(), s.Clients, available))
	}
}

// Slack is the running time within which a client must be notified of a loss. Only a client that is not notified at
// all takes so long, even if the machine is busy; virtual time shows smaller delays.
const Slack = time.Second

func (p *player) judge(events []history.Event) []check.Verdict {
	s := p.scenario
	terms := check.Terms{
		Masters: p.masters.Masters(), Clients: p.fleet.Names(),
		Names: traffic.Names(p.masters.Prefix, s.Groups), Planned: p.planned(),
		Extends:    slices.ContainsFunc(s.Groups, func(g traffic.Group) bool { return g.Keepalive }),
		Reordering: faults.Named(faults.Catalog(), faults.Traits.Reorders), Slack: Slack, Bound: s.Bound(), Grace: Grace,
	}
	var verdicts []check.Verdict
	for _, c := range check.Catalog() {
		verdicts = append(verdicts, c.Judge(events, terms))
	}
	return verdicts
}

func (p *player) planned() []string {
	var names []string
	for _, step := range p.plan {
		if !slices.Contains(names, step.Fault) {
			names = append(names, step.Fault)
		}
	}
	return names
}
