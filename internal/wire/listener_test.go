package wire

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/testmain"
)

// fakeSubscription is a subscription that has ended.
type fakeSubscription struct{ closed atomic.Bool }

func (f *fakeSubscription) Subscribe([]string) error   { return nil }
func (f *fakeSubscription) Unsubscribe([]string) error { return nil }

func (f *fakeSubscription) Receive() (channel, text string, err error) { return "", "", errBroken }

func (f *fakeSubscription) Close() { f.closed.Store(true) }

func TestAListenerClosesItsSubscriptions(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]func(stop, cancel func()){
		"it stops":                func(stop, _ func()) { stop() },
		"the node's context ends": func(_, cancel func()) { cancel() },
	}, func(t *testing.T, end func(stop, cancel func())) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var mu sync.Mutex
			var made []*fakeSubscription
			var connecting atomic.Bool
			ls := newListener(ctx, clock.System, func(context.Context) (link.Subscription, error) {
				sub := &fakeSubscription{}
				mu.Lock()
				made = append(made, sub)
				mu.Unlock()
				connecting.Store(true)
				time.Sleep(subscribedFor) // it takes long
				connecting.Store(false)
				return sub, nil
			})
			var reports []string
			ls.report = func(err error) {
				mu.Lock()
				defer mu.Unlock()
				reports = append(reports, err.Error())
			}
			var all sync.WaitGroup
			ls.spawn = func(f func() error) { all.Go(func() { _ = f() }) }
			stop := ls.listen("a", func(string) {})
			time.Sleep(time.Hour)
			synctest.Wait()
			mu.Lock()
			assert.InDelta(t, 80, len(made), 30, "it waits, longer and longer, before it replaces a connection")
			assert.Equal(t, []string{"no subscription: broken"}, reports)
			before := len(made)
			mu.Unlock()
			if connecting.Load() {
				time.Sleep(subscribedFor + time.Second) // and then it waits again, for longer
			}
			signal(ls.retry)
			synctest.Wait()
			mu.Lock()
			assert.Len(t, made, before+1, "the master answers again")
			mu.Unlock()
			end(stop, cancel)
			all.Wait()
			for _, sub := range made {
				assert.True(t, sub.closed.Load())
			}
		})
	})
}

func TestAListenerDoesNotReportTheEndOfItsNode(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ls := newListener(ctx, clock.System, nil)
	ls.failures, ls.report = endedOften, func(err error) { t.Error(err) }
	ls.reportFailure(errBroken)
}
