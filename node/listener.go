package node

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/clock"
)

// subscriber is what of a client the ear needs.
type subscriber interface {
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// ear listens to the channels of one master, over one connection that lives while anybody listens.
type ear struct {
	ctx   context.Context
	clock clock.Clock
	open  func(context.Context) (subscriber, func())
	spawn func(func() error)

	mu      sync.Mutex
	wanted  map[string]map[*func()]struct{} // by channel
	running bool
	closed  bool
	changed chan struct{} // has room for one: something in wanted changed
}

// hearRetry is how long the ear waits before it replaces a connection that failed.
const hearRetry = 200 * time.Millisecond

func newEar(ctx context.Context, clk clock.Clock, open func(context.Context) (subscriber, func())) *ear {
	return &ear{ctx: ctx, clock: clk, open: open, wanted: make(map[string]map[*func()]struct{}), changed: make(chan struct{}, 1)}
}

func (e *ear) listen(channel string, heard func()) (stop func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return func() {}
	}
	if e.wanted[channel] == nil {
		e.wanted[channel] = make(map[*func()]struct{})
	}
	key := &heard
	e.wanted[channel][key] = struct{}{}
	e.note()
	if !e.running {
		e.running = true
		e.spawn(e.run)
	}
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.wanted[channel], key)
		if len(e.wanted[channel]) == 0 {
			delete(e.wanted, channel)
		}
		e.note()
	}
}

func (e *ear) note() {
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

// close makes the ear take no more listeners; the node's context ends what runs.
func (e *ear) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
}

func (e *ear) run() error {
	for {
		failed := e.attend()
		e.mu.Lock()
		if len(e.wanted) == 0 || e.closed {
			e.running = false
			e.mu.Unlock()
			return nil
		}
		e.mu.Unlock()
		if !failed {
			continue // somebody began to listen when nobody did any more
		}
		// Whoever listens has its backoff meanwhile.
		if clock.Sleep(e.ctx, e.clock, hearRetry) != nil {
			e.mu.Lock()
			e.closed = true
			e.mu.Unlock()
		}
	}
}

// attend keeps one connection subscribed to what is wanted, until nobody listens or it fails.
func (e *ear) attend() (failed bool) {
	ctx, cancel := context.WithCancel(e.ctx)
	client, done := e.open(ctx)
	defer done()
	sub := client.Subscribe(ctx) // connects with the first channel
	defer func() { _ = sub.Close() }()
	defer cancel()

	subscribed := make(map[string]bool)
	broken := make(chan struct{})
	reading := false
	for {
		add, drop, idle := e.difference(subscribed)
		if idle {
			failed = false
			break
		}
		failed = true
		if len(add) > 0 && sub.Subscribe(ctx, add...) != nil {
			break
		}
		if len(drop) > 0 && sub.Unsubscribe(ctx, drop...) != nil {
			break
		}
		if !reading && len(subscribed) > 0 {
			reading = true
			e.spawn(func() error {
				defer close(broken)
				e.read(ctx, sub)
				return nil
			})
		}
		select {
		case <-e.changed:
			continue
		case <-broken:
			return true
		case <-e.ctx.Done():
		}
		break
	}
	cancel() // first: whatever the client is waiting for, it does so under the mutex that Close needs
	_ = sub.Close()
	if reading {
		<-broken
	}
	return failed
}

// difference brings subscribed up to what is wanted and returns what to do for it. idle: nobody listens to anything.
func (e *ear) difference(subscribed map[string]bool) (add, drop []string, idle bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for channel := range e.wanted {
		if !subscribed[channel] {
			subscribed[channel] = true
			add = append(add, channel)
		}
	}
	for channel := range subscribed {
		if e.wanted[channel] == nil {
			delete(subscribed, channel)
			drop = append(drop, channel)
		}
	}
	return add, drop, len(e.wanted) == 0
}

// read hands on what comes in, until the connection fails or is closed.
func (e *ear) read(ctx context.Context, sub *redis.PubSub) {
	for {
		msg, err := sub.Receive(ctx)
		if err != nil {
			return
		}
		switch m := msg.(type) {
		case *redis.Message:
			e.hear(m.Channel)
		case *redis.Subscription:
			if m.Kind == "subscribe" {
				e.hear(m.Channel)
			}
		}
	}
}

func (e *ear) hear(channel string) {
	e.mu.Lock()
	heard := make([]func(), 0, len(e.wanted[channel]))
	for f := range e.wanted[channel] {
		heard = append(heard, *f)
	}
	e.mu.Unlock()
	for _, f := range heard {
		f()
	}
}
