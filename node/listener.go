package node

import (
	"context"
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
)

// resubscribeAfter is how long a listener waits before it replaces a connection that failed.
const resubscribeAfter = 200 * time.Millisecond

// listener subscribes to channels of one master, over one connection that exists while there are subscriptions.
type listener struct {
	ctx     context.Context
	clock   clock.Clock
	connect func(context.Context) (subscription, error)
	spawn   func(func() error)
	changed chan struct{} // has room for one: wanted has changed

	mu      sync.Mutex
	wanted  map[string]map[*func(message string)]struct{} // what to call, by channel
	running bool
	closed  bool
}

func newListener(
	ctx context.Context, clk clock.Clock, connect func(context.Context) (subscription, error),
) *listener {
	return &listener{
		ctx: ctx, clock: clk, connect: connect, changed: make(chan struct{}, 1),
		wanted: make(map[string]map[*func(string)]struct{}),
	}
}

// listen calls notify for every message on the channel until stop is called; see [Node.Listen].
func (ls *listener) listen(channel string, notify func(message string)) (stop func()) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.closed {
		return func() {}
	}
	if ls.wanted[channel] == nil {
		ls.wanted[channel] = make(map[*func(string)]struct{})
	}
	key := &notify
	ls.wanted[channel][key] = struct{}{}
	ls.signalChange()
	if !ls.running {
		ls.running = true
		ls.spawn(ls.run)
	}
	return func() { ls.remove(channel, key) }
}

func (ls *listener) remove(channel string, key *func(string)) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.wanted[channel], key)
	if len(ls.wanted[channel]) == 0 {
		delete(ls.wanted, channel)
	}
	ls.signalChange()
}

func (ls *listener) signalChange() {
	select {
	case ls.changed <- struct{}{}:
	default:
	}
}

// close makes the listener accept no more subscriptions. The node's context ends its goroutines.
func (ls *listener) close() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.closed = true
}

// run is the listener's goroutine. It ends when there are no subscriptions.
func (ls *listener) run() error {
	for {
		failed := ls.serve()
		if ls.endIfIdle() {
			return nil
		}
		if !failed {
			continue // a subscription was added after the last one had been removed
		}
		// The owners of the subscriptions retry by themselves meanwhile.
		if clock.Sleep(ls.ctx, ls.clock, resubscribeAfter) != nil {
			ls.close()
		}
	}
}

// endIfIdle reports whether the listener has nothing to do, and records that its goroutine ends in that case.
func (ls *listener) endIfIdle() bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if len(ls.wanted) > 0 && !ls.closed {
		return false
	}
	ls.running = false
	return true
}

// serve keeps one connection subscribed to the wanted channels, until there are none or the connection fails.
func (ls *listener) serve() (failed bool) {
	sub, err := ls.connect(ls.ctx)
	if err != nil {
		return true
	}
	unwatch := context.AfterFunc(ls.ctx, sub.close)
	defer unwatch()
	subscribed := make(map[string]bool)
	broken := make(chan struct{})
	reading := false
	for {
		add, drop, idle := ls.diff(subscribed)
		if idle {
			failed = false
			break
		}
		failed = true
		if len(add) > 0 && sub.subscribe(add) != nil {
			break
		}
		if len(drop) > 0 && sub.unsubscribe(drop) != nil {
			break
		}
		if !reading {
			reading = true
			ls.spawn(func() error {
				defer close(broken)
				ls.read(sub)
				return nil
			})
		}
		select {
		case <-ls.changed:
			continue
		case <-broken:
		case <-ls.ctx.Done():
		}
		break
	}
	sub.close()
	if reading {
		<-broken
	}
	return failed
}

// diff updates subscribed to the wanted channels, and returns the channels to add and to drop. idle reports whether
// there are no wanted channels.
func (ls *listener) diff(subscribed map[string]bool) (add, drop []string, idle bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for channel := range ls.wanted {
		if !subscribed[channel] {
			subscribed[channel] = true
			add = append(add, channel)
		}
	}
	for channel := range subscribed {
		if ls.wanted[channel] == nil {
			delete(subscribed, channel)
			drop = append(drop, channel)
		}
	}
	return add, drop, len(ls.wanted) == 0
}

// read passes on messages until the connection fails or is closed.
func (ls *listener) read(sub subscription) {
	for {
		e, err := sub.receive()
		if err != nil {
			return
		}
		if e.kind != unsubscribed {
			ls.notify(e.channel, e.text)
		}
	}
}

// notify calls the functions of a channel, without the mutex.
func (ls *listener) notify(channel, message string) {
	for _, f := range ls.functions(channel) {
		f(message)
	}
}

func (ls *listener) functions(channel string) []func(string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	all := make([]func(string), 0, len(ls.wanted[channel]))
	for f := range ls.wanted[channel] {
		all = append(all, *f)
	}
	return all
}
