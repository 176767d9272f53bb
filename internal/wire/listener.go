package wire

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/replyerr"
	"github.com/redlock-go/redlock/node"
)

const (
	// A listener replaces a connection that failed, and asks again for refused channels, after resubscribeMin, then at
	// doubling intervals up to resubscribeMax, each shortened by up to a half at random. Waiters poll meanwhile.
	resubscribeMin = 200 * time.Millisecond
	resubscribeMax = time.Minute
	// subscribedFor is how long a connection must have lasted for the next failure to be a first one.
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
	signal(ls.changed)
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
	signal(ls.changed)
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
		if err != nil { // nil: a subscription was added after the last one had been removed
			ls.reportFailure(err)
			ls.pause()
		}
	}
}

// ended records the end of a connection that was subscribed at began. If it lasted, the next failure is a first one.
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
	switch {
	case replyerr.Is(err):
		reason = reasonOf(err)
	case errors.As(err, new(*connectFailure)), ls.failures < endedOften:
		return
	case ls.reported != "":
		return // the server refused, which was reported, and then hung up
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
	select {
	case <-ls.backOff():
	case <-ls.retry:
	case <-ls.ctx.Done():
		ls.close()
	}
}

// backOff returns a channel that is closed when the next attempt is due.
func (ls *listener) backOff() <-chan struct{} {
	ls.backoff = min(max(2*ls.backoff, resubscribeMin), resubscribeMax)
	due := make(chan struct{})
	ls.clock.AfterFunc(shortened(ls.backoff), func() { close(due) })
	return due
}

// endIfIdle reports whether the listener has nothing to do, and records that its goroutine ends in that case.
func (ls *listener) endIfIdle() bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.running = len(ls.wanted) > 0 && !ls.closed
	return !ls.running
}

// refusal is why a channel is not subscribed, or with the channel "", why reading ended.
type refusal struct {
	channel string
	err     error
}

// serve keeps one connection subscribed to the wanted channels, until there are none or the connection fails, with an
// error. A channel that the master refuses stays among the subscribed ones until the next attempt is due.
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
	subscribed := make(map[string]bool) // false: it is refused
	refusals := make(chan refusal, 1)
	var again <-chan struct{} // closed when the refused channels are due again
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
				for (<-refusals).channel != "" { // the last one is that the subscription was closed here
				}
			} else if err != nil {
				err = &connectFailure{err} // a wrapped client connects with the first channel
			}
			return err
		}
		if !reading {
			reading = true
			defer ls.ended(ls.clock.Now())
			ls.spawn(func() error { return ls.read(sub, refusals) })
		}
		select {
		case <-ls.changed:
		case <-again:
			maps.DeleteFunc(subscribed, func(_ string, accepted bool) bool { return !accepted })
			again = nil
		case r := <-refusals:
			if r.channel == "" {
				sub.Close()
				return r.err
			}
			if again == nil {
				again = ls.backOff()
			}
			subscribed[r.channel] = false
			ls.reportFailure(r.err)
		}
	}
}

// diff updates subscribed to the wanted channels, and returns the channels to add and to drop. idle reports whether
// there are no wanted channels.
func (ls *listener) diff(subscribed map[string]bool) (add, drop []string, idle bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for channel := range ls.wanted {
		if _, asked := subscribed[channel]; !asked {
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

// read passes on messages and refusals until the connection fails or is closed.
func (ls *listener) read(sub link.Subscription, refusals chan<- refusal) error {
	for {
		channel, text, err := sub.Receive()
		if err == nil {
			ls.notify(channel, text)
		} else if refusals <- (refusal{channel, err}); channel == "" {
			return nil
		}
	}
}

// notify calls the functions of a channel, without the mutex.
func (ls *listener) notify(channel, message string) {
	ls.mu.Lock()
	all := slices.Collect(maps.Keys(ls.wanted[channel]))
	ls.mu.Unlock()
	for _, f := range all {
		(*f)(message)
	}
}

// signal puts a value into a channel that has room for one, unless there is one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
