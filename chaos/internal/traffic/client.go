package traffic

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/chaos/internal/register"
	"github.com/redlock-go/redlock/chaos/internal/stalls"
)

// client is one client process.
type client struct {
	config     Config
	clock      history.Clock
	drift      *drift // the clock that its lock goes by
	history    *history.Writer
	locker     locker.Locker
	registers  map[string]*register.Client
	votes      *Votes
	crashPoint crashPoint
	held       atomic.Int64
	workers    atomic.Int64 // the last id given to a worker
}

// RunClient is the client process: it takes its [Config] and then [Command]s from in, writes [Answer]s to out, and
// returns when it gets the command to quit or when in ends, as it does when the harness dies.
func RunClient(in io.Reader, out io.Writer) (err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20) // a configuration with many groups is a long line
	var c client
	if !lines.Scan() {
		return errors.Join(errors.New("no configuration on standard input"), lines.Err())
	}
	if err := json.Unmarshal(lines.Bytes(), &c.config); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	c.clock = history.NewClock()
	w, err := history.Create(c.config.History, c.clock)
	if err != nil {
		return err
	}
	defer w.Close()
	c.history = w
	defer func() { err = errors.Join(err, c.hangUp()) }()
	if err := c.open(); err != nil {
		return err
	}
	quits, err := c.serve(lines, &answers{enc: json.NewEncoder(out)})
	err = errors.Join(err, c.locker.Close())
	if quits {
		c.history.Write(history.Event{
			Kind: history.Quitting, Client: c.config.Client, Life: c.config.Life, Goroutines: leftover(),
		})
	}
	return err
}

// open opens what the configuration asks for.
func (c *client) open() error {
	if len(c.config.Groups) == 0 {
		c.config.Groups = Groups
	}
	c.registers = map[string]*register.Client{}
	for _, g := range c.config.Groups {
		if err := g.check(); err != nil {
			return err
		}
		if g.Register == "" || c.registers[g.Register] != nil {
			continue
		}
		addr := c.config.Registers[g.Register]
		if addr == "" {
			return fmt.Errorf("group %q wants the register %q, and the configuration has no address of it", g.Names, g.Register)
		}
		r, err := register.Dial(addr)
		if err != nil {
			return err
		}
		c.registers[g.Register] = r
	}
	c.drift, c.votes = newDrift(c.config), NewVotes(c.config.URLs)
	var err error
	c.locker, err = openLocker(c.config, locker.Settings{
		URLs: c.config.URLs, Owner: fmt.Sprintf("%s.%d", c.config.Client, c.config.Life), Window: c.config.Window,
		Clock: c.drift, Between: func() { c.crashPoint.killAt(Between) },
	}, c.votes)
	return err
}

// hangUp leaves the registers.
func (c *client) hangUp() error {
	var errs []error
	for _, r := range c.registers {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

type answers struct {
	mu  sync.Mutex
	enc *json.Encoder
}

func (a *answers) send(x Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.enc.Encode(x) // the harness is gone: the input will end
}

// serve starts the traffic and obeys until the command to quit, which it confirms, or the input ends. It returns when
// nothing of it runs any more.
func (c *client) serve(lines *bufio.Scanner, out *answers) (quits bool, err error) {
	defer stalls.Detect(c.history, c.config.Client, c.config.Life)() // before anybody waits for a lock
	ctx, stop := context.WithCancel(context.Background())
	var storm, telling sync.WaitGroup
	defer telling.Wait()
	defer storm.Wait()
	defer stop()
	for _, g := range c.config.Groups {
		workers := g.Workers
		if workers == 0 {
			workers = c.config.Workers
		}
		for range workers {
			w := c.worker()
			storm.Go(func() { w.storm(ctx, g) })
		}
	}
	over := make(chan struct{})
	defer close(over)
	telling.Go(func() { c.tell(out, over) })

	out.send(Answer{Done: Ready})
	for lines.Scan() {
		var cmd Command
		if err := json.Unmarshal(lines.Bytes(), &cmd); err != nil {
			return false, fmt.Errorf("command: %w", err)
		}
		switch cmd.Do {
		case Stop:
			stop()
			storm.Wait()
		case Pass:
			c.pass(cmd)
		case Round:
			c.round(cmd)
		case SetCrashPoint:
			if cmd.CrashPoint != NoCrashPoint {
				out.send(Answer{Done: SetCrashPoint}) // before it is set: the client may freeze at once
				c.crashPoint.set(cmd.CrashPoint)
				continue
			}
			c.crashPoint.clear()
		case Drift:
			c.drift.gain(cmd.Gain)
		case Quit:
			return true, nil
		default:
			return false, fmt.Errorf("no command is called %q", cmd.Do)
		}
		out.send(Answer{Done: cmd.Do, Held: int(c.held.Load())})
	}
	return false, lines.Err()
}

// pass acquires all names of the command side by side.
func (c *client) pass(cmd Command) {
	var all []locker.Request
	for _, name := range cmd.Names {
		all = append(all, locker.Request{Mode: cmd.Mode, Names: []string{name}, Fencing: cmd.Fencing})
	}
	c.take(cmd, all)
}

// round takes what the groups take: readers first, and then writers, because a history attributes votes to an
// acquisition by the name alone.
func (c *client) round(cmd Command) {
	var first, then []locker.Request
	for _, g := range c.config.Groups {
		names := g.names(c.config.Prefix, c.config.Client)
		for _, mode := range g.modes() {
			if kinds.Of(mode).Several {
				first = append(first, locker.Request{Mode: mode, Names: names, Fencing: g.Fencing})
				continue
			}
			for _, name := range names {
				r := locker.Request{Mode: mode, Names: []string{name}, Fencing: g.Fencing}
				if mode == kinds.Writer {
					then = append(then, r)
				} else {
					first = append(first, r)
				}
			}
		}
	}
	c.take(cmd, first)
	c.take(cmd, then)
}

// take takes all that is wanted once, at the same time, and returns when that is over.
func (c *client) take(cmd Command, all []locker.Request) {
	var over sync.WaitGroup
	for _, r := range all {
		w := c.worker()
		r.TTL = cmd.TTL
		if kinds.Of(r.Mode).Owned() {
			r.Owner = c.config.Client
		}
		t := try{Request: r, patience: cmd.Patience, hold: shortHold.Least, phase: cmd.Phase}
		over.Go(func() { w.pass(context.Background(), t) })
	}
	over.Wait()
}

// tell reports twice a second how much was held, until over is closed.
func (c *client) tell(out *answers, over <-chan struct{}) {
	tick := time.NewTicker(time.Second / 2)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			out.send(Answer{Held: int(c.held.Load())})
		case <-over:
			return
		}
	}
}

// worker returns a new one; what it draws depends on the seed and on who it is.
func (c *client) worker() *worker {
	id := int(c.workers.Add(1))
	who := fmt.Sprintf("%s.%d.%d", c.config.Client, c.config.Life, id)
	h := fnv.New64a()
	_, _ = io.WriteString(h, who) // never fails
	return &worker{client: c, id: id, rng: rand.New(rand.NewPCG(c.config.Seed, h.Sum64()))}
}
