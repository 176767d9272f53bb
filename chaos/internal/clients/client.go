// Package clients has the client processes of a run, and the harness's side of them. It starts, kills and freezes them,
// sends them JSON lines on their standard input, and reads their answers on standard output. What the workers of a
// client do is a [traffic.Life], which a simulation runs in virtual time, without processes.
package clients

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/register"
	"github.com/redlock-go/redlock/chaos/internal/stalls"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/internal/simnet"
)

// client is one client process.
type client struct {
	traffic.Life
	crashPoint

	clock     history.Clock
	lockClock *simnet.Clock // the clock that its lock goes by
	rate      float64       // initial rate of lockClock
	history   *history.Writer
	registers []*register.Client
}

// lookAtUntil is the interval at which a holder checks whether its lock was extended.
const lookAtUntil = 5 * time.Millisecond

// RunClient is the client process: it takes its [Config] and then [Command]s from in, writes [Answer]s to out, and
// returns when in ends, as it does when the harness dies.
func RunClient(in io.Reader, out io.Writer) (err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20) // a configuration with many groups is a long line
	c := client{Life: traffic.Life{Look: lookAtUntil, Registers: map[string]traffic.Register{}}}
	c.World = &c
	if !lines.Scan() {
		return errors.Join(errors.New("no configuration on standard input"), lines.Err())
	}
	if err := json.Unmarshal(lines.Bytes(), &c.Config); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	c.clock = history.NewClock()
	w, err := history.Create(c.History, c.clock)
	if err != nil {
		return err
	}
	defer w.Close()
	c.history = w
	defer func() { err = errors.Join(err, c.hangUp()) }()
	if err := c.open(); err != nil {
		return err
	}
	to := &answers{enc: json.NewEncoder(out)}
	quits, err := c.serve(lines, to)
	err = errors.Join(err, c.Locker.Close())
	if quits {
		c.history.Write(history.Event{
			Kind: history.Quitting, Client: c.Client, Life: c.Config.Life, Goroutines: leftover(),
		})
		to.send(traffic.Answer{Done: traffic.Quit})
		_, _ = io.Copy(io.Discard, in) // the harness inspects the masters' connections before the process ends
	}
	return err
}

// open opens what the configuration asks for.
func (c *client) open() error {
	for _, g := range c.Groups {
		if g.Register == "" || c.Life.Registers[g.Register] != nil {
			continue
		}
		addr := c.Config.Registers[g.Register]
		if addr == "" {
			return fmt.Errorf("group %q wants the register %q, and the configuration has no address of it", g.Names, g.Register)
		}
		r, err := register.Dial(addr)
		if err != nil {
			return err
		}
		c.registers = append(c.registers, r)
		c.Life.Registers[g.Register] = r
	}
	c.lockClock, c.rate = simnet.NewClock(), cmp.Or(c.ClockRate, 1)
	c.lockClock.Rate(c.rate)
	var err error
	c.Locker, err = c.openLocker()
	return err
}

// Write writes an event to the history of the process.
func (c *client) Write(e history.Event) { c.history.Write(e) }

// Now returns the present on the machine's clock.
func (c *client) Now() time.Duration { return c.clock.Now() }

// TrueTime converts t, a time that the lock's clock shows, to the time of the machine's clock at that moment. For a
// future t it assumes that the lock's clock keeps its present rate.
func (c *client) TrueTime(t time.Time) time.Duration { return c.clock.Of(c.lockClock.World(t)) }

// Awake does nothing: a frozen process does not get here.
func (c *client) Awake() {}

// hangUp closes the connections to the registers.
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

func (a *answers) send(x traffic.Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.enc.Encode(x) // the harness is gone: the input will end
}

// serve starts the traffic and executes commands until Quit, or the end of the input. It returns when all traffic has
// ended.
func (c *client) serve(lines *bufio.Scanner, out *answers) (quits bool, err error) {
	defer stalls.Detect(c.history, c.Client, c.Config.Life)() // before anybody waits for a lock
	ctx, stop := context.WithCancel(context.Background())
	var storm, telling sync.WaitGroup
	defer telling.Wait()
	defer storm.Wait()
	defer stop()
	c.Start(ctx, storm.Go)
	over := make(chan struct{})
	defer close(over)
	telling.Go(func() { c.tell(out, over) })

	out.send(traffic.Answer{Done: traffic.Ready})
	for lines.Scan() {
		var cmd traffic.Command
		if err := json.Unmarshal(lines.Bytes(), &cmd); err != nil {
			return false, fmt.Errorf("command: %w", err)
		}
		switch cmd.Do {
		case traffic.Stop:
			stop()
			storm.Wait()
		case traffic.Round:
			c.Round(cmd)
		case traffic.SetCrashPoint:
			if cmd.CrashPoint != traffic.NoCrashPoint {
				out.send(traffic.Answer{Done: traffic.SetCrashPoint}) // before it is set: the client may freeze at once
				c.crashPoint.set(cmd.CrashPoint)
				continue
			}
			c.crashPoint.clear()
		case traffic.Drift:
			if cmd.Gain == 0 {
				c.lockClock.Rate(c.rate)
			} else {
				c.lockClock.Rate(1 + cmd.Gain)
			}
		case traffic.Quit:
			return true, nil
		default:
			return false, fmt.Errorf("no command is called %q", cmd.Do)
		}
		out.send(traffic.Answer{Done: cmd.Do, Held: c.Held()})
	}
	return false, lines.Err()
}

// tell reports twice a second how many locks were held so far, until over is closed.
func (c *client) tell(out *answers, over <-chan struct{}) {
	tick := time.NewTicker(time.Second / 2)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			out.send(traffic.Answer{Held: c.Held()})
		case <-over:
			return
		}
	}
}
