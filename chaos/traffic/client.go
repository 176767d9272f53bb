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

	"github.com/redlock-go/redlock/chaos/history"
)

// client is one client process.
type client struct {
	config  Config
	clock   history.Clock
	history *history.Writer
	locker  locker
	held    atomic.Int64
	workers atomic.Int64 // the last id given to a worker
}

// RunClient is the client process: it takes its [Config] and then [Command]s from in, writes [Answer]s to out, and
// returns when it is told to quit or when in ends, as it does when the harness dies.
func RunClient(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
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
	if c.locker, err = openLocker(c.config); err != nil {
		return err
	}
	if c.config.HalfLock != "" {
		_, err := c.locker.Lock(context.Background(), c.config.HalfLock, TTL, false, false)
		return fmt.Errorf("outlived its own death: %w", err)
	}
	return errors.Join(c.serve(lines, &answers{enc: json.NewEncoder(out)}), c.locker.Close())
}

type answers struct {
	mu  sync.Mutex
	enc *json.Encoder
}

func (a *answers) send(x Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.enc.Encode(x) // nobody listens any more: the end of the input will tell
}

// serve starts the traffic and obeys until the input ends. It returns when nothing of it runs any more.
func (c *client) serve(lines *bufio.Scanner, out *answers) error {
	ctx, stop := context.WithCancel(context.Background())
	var storm, telling sync.WaitGroup
	defer telling.Wait()
	defer storm.Wait()
	defer stop()
	for _, g := range Groups {
		for range c.config.Workers {
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
			return fmt.Errorf("command: %w", err)
		}
		switch cmd.Do {
		case Stop:
			stop()
			storm.Wait()
		case Pass:
			c.pass(cmd)
		case Quit:
			return nil
		default:
			return fmt.Errorf("no command is called %q", cmd.Do)
		}
		out.send(Answer{Done: cmd.Do, Held: int(c.held.Load())})
	}
	return lines.Err()
}

// pass acquires all names of the command side by side.
func (c *client) pass(cmd Command) {
	var all sync.WaitGroup
	for _, name := range cmd.Names {
		w := c.worker()
		all.Go(func() {
			w.pass(context.Background(), try{
				name: name, ttl: cmd.TTL, patience: cmd.Patience, hold: shortHold.least, phase: cmd.Phase,
			})
		})
	}
	all.Wait()
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
