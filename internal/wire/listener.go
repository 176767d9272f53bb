package wire

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/replyerr"
	"github.com/redlock-go/redlock/node"
)

const (
	// A listener replaces a connection that failed after resubscribeMin, then at doubling intervals up to
	// resubscribeMax, each shortened by up to a half at random. Waiters poll meanwhile.
	resubscribeMin = 200 * time.Millisecond
	resubscribeMax = time.Minute
	// subscribedFor is how long a subscription must have lasted for the next failure to be a first one.
	subscribedFor = 5 * time.Second
	// endedOften is after how many failures in a row a listener reports that its connections end.
	endedOften = 3
)

// listener subscribes to channels of one master, over one connection that exists while there are subscriptions.
type listener struct {
	ctx     context.Context
	clock   clock.Clock
	connect func(context.Context) (link.Subscription, error)
	spawn   func(func() error)
	report  func(error)
	changed chan struct{} // has room for one: wanted has changed
	retry   chan struct{} // has room for one: the master answers again

	failures int           // in a row; the goroutine's
	backoff  time.Duration // before the next attempt; the goroutine's
	reported string        // the reason that was reported last; the goroutine's

	mu      sync.Mutex
	wanted  map[string]map[*func(message string)]struct{} // what to call, by channel
	running bool
	closed  bool
}

func newListener(
	ctx context.Context, clk clock.Clock, connect func(context.Context) (link.Subscription, error),
) *listener {
	return &listener{
		ctx: ctx, clock: clk, connect: connect, changed: make(chan struct{}, 1), retry: make(chan struct{}, 1),
		wanted: make(map[string]map[*func(string)]struct{}), report: func(error) {},
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
		err := ls.serve()
		if ls.endIfIdle() {
			return nil
		}
		if err == nil {
			continue // a subscription was added after the last one had been removed
		}
		ls.reportFailure(err)
		ls.pause()
	}
}

// ended records the end of a subscription.
func (ls *listener) ended(began time.Time) {
	if ls.clock.Now().Sub(began) >= subscribedFor {
		ls.failures, ls.backoff, ls.reported = 0, 0, ""
	}
}

// reportFailure reports the reason of a failure, once. Whether the master can be reached is not the listener's to
// report.
func (ls *listener) reportFailure(err error) {
	if ls.ctx.Err() != nil {
		return // Close ended the connection
	}
	ls.failures++
	reason := "ended"
	var unreachable *connectFailure
	switch {
	case replyerr.Is(err):
		reason = reasonOf(err)
	case errors.As(err, &unreachable), ls.failures < endedOften:
		return
	}
	if reason != ls.reported {
		ls.reported = reason
		ls.report(&node.SubscriptionError{Err: err})
	}
}

// connectFailure is the error of an attempt to connect.
type connectFailure struct{ error }

func (e *connectFailure) Unwrap() error { return e.error }

// pause waits before the next attempt, or until the master answers again.
func (ls *listener) pause() {
	ls.backoff = min(max(2*ls.backoff, resubscribeMin), resubscribeMax)
	over := make(chan struct{})
	timer := ls.clock.AfterFunc(shortened(ls.backoff), func() { close(over) })
	defer timer.Stop()
	select {
	case <-over:
	case <-ls.retry:
	case <-ls.ctx.Done():
		ls.close()
	}
}

// retryNow ends a pause, because the master answers again.
func (ls *listener) retryNow() {
	select {
	case ls.retry <- struct{}{}:
	default:
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

// serve keeps one connection subscribed to the wanted channels, until there are none or the connection fails, with an
// error.
func (ls *listener) serve() error {
	select {
	case <-ls.retry: // from before this attempt
	default:
	}
	sub, err := ls.connect(ls.ctx)
	if err != nil {
		return &connectFailure{err}
	}
	unwatch := context.AfterFunc(ls.ctx, sub.Close)
	defer unwatch()
	subscribed := make(map[string]bool)
	broken := make(chan error, 1) // gets the error with which reading ended
	for reading := false; ; {
		add, drop, idle := ls.diff(subscribed)
		var err error
		if len(add) > 0 {
			err = sub.Subscribe(add)
		}
		if len(drop) > 0 && err == nil && !idle {
			err = sub.Unsubscribe(drop)
		}
		if idle || err != nil {
			sub.Close()
			if reading {
				<-broken //nolint:errcheck // the subscription was closed here
			} else if err != nil {
				err = &connectFailure{err} // a wrapped client connects with the first channel
			}
			return err
		}
		if !reading {
			reading = true
			defer ls.ended(ls.clock.Now())
			ls.spawn(func() error {
				broken <- ls.read(sub)
				return nil
			})
		}
		select {
		case <-ls.changed:
		case err := <-broken:
			sub.Close()
			return err
		}
	}
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

// read passes on messages until the connection fails or is closed, with the error that it returns.
func (ls *listener) read(sub link.Subscription) error {
	for {
		channel, text, err := sub.Receive()
		if err != nil {
			return err
		}
		ls.notify(channel, text)
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
