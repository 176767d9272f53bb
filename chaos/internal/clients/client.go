// Package clients has the client processes of a run, and the harness's side of them. It starts, kills and freezes them,
// and calls them by net/rpc over their standard input and output. What the workers of a client do is a [traffic.Life],
// which a simulation runs in virtual time, without processes.
package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/rpc"
	"os"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/register"
	"github.com/redlock-go/redlock/chaos/internal/stalls"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/internal/simnet"
)

// client is one client process.
type client struct {
	traffic.Life
	crashPoint

	*history.Writer
	lockClock *simnet.Clock // the clock that its lock goes by
	registers []*register.Client

	storm sync.WaitGroup
	stop  context.CancelFunc // ends the storm
	end   func() error       // ends the traffic and closes the locker, once; nil before Start
}

// lookAtUntil is the interval at which a holder checks whether its lock was extended.
const lookAtUntil = 5 * time.Millisecond

// stream is a connection over standard input and output.
type stream struct {
	io.Reader
	io.Writer
	io.Closer
}

// RunClient is the client process: it executes the calls of [Remote] that it reads from in, and returns when in ends,
// as it does when the harness dies.
func RunClient(in io.Reader, out io.Writer) error {
	c := &client{Life: traffic.Life{Look: lookAtUntil, Registers: map[string]traffic.Register{}}}
	c.World = c
	server := rpc.NewServer()
	if err := server.RegisterName("Client", Remote{c}); err != nil {
		return err
	}
	server.ServeConn(stream{in, out, io.NopCloser(in)})
	if c.end == nil {
		return errors.New("the client was not started")
	}
	errs := []error{c.end()}
	for _, r := range c.registers {
		errs = append(errs, r.Close())
	}
	return errors.Join(append(errs, c.Writer.Close())...)
}

// Remote has the calls of the harness to a client. Where an argument is an int, it is ignored.
type Remote struct{ c *client }

// Start begins the traffic of a configuration.
func (r Remote) Start(config traffic.Config, _ *int) (err error) {
	c := r.c
	c.Config = config
	if c.Writer, err = history.Create(c.History, history.NewClock()); err != nil {
		return err
	}
	if err := c.open(); err != nil {
		return err
	}
	unwatch := stalls.Detect(c.Writer, c.Client, c.Config.Life) // before anybody waits for a lock
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.end = sync.OnceValue(func() error {
		stop()
		c.storm.Wait()
		unwatch()
		return c.Locker.Close()
	})
	c.Life.Start(ctx, c.storm.Go)
	return nil
}

// Stop ends the traffic: all holds are ended and unlocked.
func (r Remote) Stop(_ int, _ *int) error {
	r.c.stop()
	r.c.storm.Wait()
	return nil
}

// Round acquires once what each group acquires (see [traffic.Life.Round]).
func (r Remote) Round(patience time.Duration, _ *int) error {
	r.c.Round(patience)
	return nil
}

// SetCrashPoint has the client kill or freeze itself when it next reaches the point.
func (r Remote) SetCrashPoint(point string, _ *int) error {
	r.c.crashPoint.Set(point)
	return nil
}

// Drift makes the clock of the lock gain gain seconds a second from now on. With 0 it keeps what it has gained.
func (r Remote) Drift(gain float64, _ *int) error {
	r.c.lockClock.Rate(1 + gain)
	return nil
}

// Quit closes the locker. The process ends with its input, so that the harness can inspect the masters' connections
// before.
func (r Remote) Quit(_ int, _ *int) error {
	err := r.c.end()
	r.c.Write(history.Event{
		Kind: history.Quitting, Client: r.c.Client, Life: r.c.Config.Life, Goroutines: leftover(),
	})
	return err
}

// open opens what the configuration asks for.
func (c *client) open() error {
	for kind, addr := range c.Config.Registers {
		r, err := register.Dial(addr)
		if err != nil {
			return err
		}
		c.registers = append(c.registers, r)
		c.Life.Registers[kind] = r
	}
	c.lockClock = simnet.NewClock()
	var err error
	c.Locker, err = c.openLocker()
	return err
}

// Now returns the present on the machine's clock.
func (c *client) Now() time.Duration { return c.Clock().Now() }

// TrueTime converts t, a time that the lock's clock shows, to the time of the machine's clock at that moment. For a
// future t it assumes that the lock's clock keeps its present rate.
func (c *client) TrueTime(t time.Time) time.Duration { return c.Clock().Of(c.lockClock.World(t)) }

// Awake does nothing: a frozen process does not get here.
func (c *client) Awake() {}

// NodeTimeout is what one master may take: generous, as the machine is shared by everything in the run.
const NodeTimeout = 200 * time.Millisecond

// openLocker opens the lock that the configuration names: the lock under test, as a stranger would, or the same broken
// from outside.
func (c *client) openLocker() (kinds.Locker, error) {
	b, err := broken.Find(c.Lock)
	if err != nil {
		return nil, err
	}
	w := b.Wrap()
	l, err := redlock.Open(c.URLs, append([]redlock.Option{
		redlock.WithTTL(traffic.TTL), redlock.WithMaxTTL(c.MaxTTL), redlock.WithNodeTimeout(NodeTimeout),
		redlock.WithOwner(fmt.Sprintf("%s.%d", c.Client, c.Config.Life)), redlock.WithClock(c.lockClock),
		redlock.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))),
	}, w.Options...)...)
	product := kinds.Product{Locker: l, Ask: w.Ask, Hold: w.Hold}
	switch {
	case err != nil:
		return nil, err
	case b.Unclosed:
		return unclosed{product}, nil
	case b.Connected:
		return &connected{Locker: product, url: c.URLs[0]}, nil
	default:
		return product, nil
	}
}

// unclosed is a lock whose Close does nothing.
type unclosed struct{ kinds.Locker }

func (unclosed) Close() error { return nil }

// connected is a lock whose Close leaves a connection to a master, and no goroutine.
type connected struct {
	kinds.Locker
	url  string
	left net.Conn
}

func (c *connected) Close() error {
	master, err := redis.ParseURL(c.url)
	if err == nil {
		c.left, err = net.Dial("tcp", master.Addr)
	}
	return errors.Join(err, c.Locker.Close())
}

// leaveTimeout is how long goroutines may take to end after a Close.
const leaveTimeout = 2 * time.Second

// locks are the packages whose functions the goroutines of locks run, or were created by.
var locks = [][]byte{
	[]byte("github.com/redlock-go/redlock."), []byte("github.com/redlock-go/redlock/internal/wire."),
	[]byte("github.com/redlock-go/redlock/quorum."), []byte("github.com/redlock-go/redlock/clock."),
	[]byte("github.com/redis/go-redis/"),
}

// leftover returns how many goroutines of a lock run after at most leaveTimeout.
func leftover() int {
	for deadline := time.Now().Add(leaveTimeout); ; time.Sleep(10 * time.Millisecond) {
		var dump bytes.Buffer
		_ = pprof.Lookup("goroutine").WriteTo(&dump, 2) // a buffer takes everything
		n := 0
		for stack := range bytes.SplitSeq(dump.Bytes(), []byte("\n\n")) {
			if slices.ContainsFunc(locks, func(pkg []byte) bool { return bytes.Contains(stack, pkg) }) {
				n++
			}
		}
		if n == 0 || time.Now().After(deadline) {
			return n
		}
	}
}
