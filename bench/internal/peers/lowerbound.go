package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime"
	"time"

	"github.com/redlock-go/redlock/bench/internal/load"
)

// lowerBound measures a lower bound of the cost of a quorum lock: it writes the bytes of redlock's own two commands,
// prepared for all callers, at once on one connection per master. A batch is done when a majority has answered, as a
// lock is. The other masters' replies are read after the next batch was written. It costs nothing but the work of the
// masters and of the operating system.
type lowerBound struct {
	urls  []string
	ttl   time.Duration
	rec   recording
	conns []net.Conn
	got   []byte
	late  []byte // the replies that the masters beyond the majority still owe
}

func openLowerBound(urls []string, o Options) (load.Pairer, error) {
	return &lowerBound{urls: urls, ttl: o.TTL}, nil
}

const batchTimeout = 10 * time.Second // for one batch

var errBatchesOnly = errors.New("the floor works in batches")

// Pair fails: the lower bound works in batches only.
func (f *lowerBound) Pair(context.Context, string) (load.Timestamps, error) {
	return load.Timestamps{}, errBatchesOnly
}

func (f *lowerBound) Close() error {
	var all []error
	for _, c := range f.conns {
		all = append(all, c.Close())
	}
	return errors.Join(all...)
}

// Batches writes as many locks at once as the load has callers, then as many unlocks, again and again.
func (f *lowerBound) Batches(ctx context.Context, l load.Load) (*load.Sample, error) {
	if err := f.connect(ctx); err != nil {
		return nil, err
	}
	lock, unlock := f.rec.times(l.Callers, f.rec.lock), f.rec.times(l.Callers, f.rec.unlock)
	s := &load.Sample{
		Pair:   load.NewHistogram(),
		Lock:   load.NewHistogram(),
		Extend: load.NewHistogram(),
		Unlock: load.NewHistogram(),
	}
	runtime.GC()
	var from time.Time
	var before uint64
	for begun := time.Now(); ctx.Err() == nil; {
		started := time.Now()
		if from.IsZero() && started.Sub(begun) >= l.Ramp {
			from, before = started, load.Allocations()
			started = time.Now()
		}
		if err := f.exchange(lock); err != nil {
			return nil, fmt.Errorf("floor, lock: %w", err)
		}
		locked := time.Now()
		if err := f.exchange(unlock); err != nil {
			return nil, fmt.Errorf("floor, unlock: %w", err)
		}
		if from.IsZero() {
			continue
		}
		ended := time.Now()
		load.Record(s.Pair, ended.Sub(started))
		load.Record(s.Lock, locked.Sub(started))
		load.Record(s.Unlock, ended.Sub(locked))
		s.Pairs += int64(l.Callers)
		if s.Elapsed = ended.Sub(from); s.Elapsed >= l.Window {
			s.Allocs = float64(load.Allocations()-before) / float64(s.Pairs)
			return s, f.readLate()
		}
	}
	return nil, ctx.Err()
}

func (f *lowerBound) connect(ctx context.Context) (err error) {
	if f.conns != nil {
		return nil
	}
	if f.rec, err = record(ctx, f.urls[0], f.ttl); err != nil {
		return err
	}
	for _, text := range f.urls {
		u, err := url.Parse(text)
		if err != nil {
			return err
		}
		if u.User != nil || u.Scheme != "redis" || u.Path != "" {
			return errors.New(
				"the floor speaks to masters without password, TLS or database number only: name other -contestants",
			)
		}
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
		if err != nil {
			return err
		}
		f.conns = append(f.conns, c)
	}
	return f.load(ctx)
}

// load gives every master the scripts: recording did so to the first one only.
func (f *lowerBound) load(ctx context.Context) error {
	for _, u := range f.urls {
		if _, err := record(ctx, u, f.ttl); err != nil {
			return err
		}
	}
	return nil
}

// exchange sends to all masters, and returns when a majority has answered as it should. One goroutine does it: the
// masters work meanwhile, and their replies are too small to fill a socket's buffer before they are read. The
// majority is always the same, so its masters are those that get their commands first.
func (f *lowerBound) exchange(e exchange) error {
	until := time.Now().Add(batchTimeout)
	for _, c := range f.conns {
		if err := c.SetDeadline(until); err != nil {
			return err
		}
		if _, err := c.Write(e.request); err != nil {
			return err
		}
	}
	majority := len(f.conns)/2 + 1
	if err := f.read(f.conns[:majority], e.reply); err != nil {
		return err
	}
	if err := f.readLate(); err != nil {
		return err
	}
	f.late = e.reply
	return nil
}

// readLate reads the outstanding replies of the masters beyond the majority.
func (f *lowerBound) readLate() error {
	late := f.late
	f.late = nil
	return f.read(f.conns[len(f.conns)/2+1:], late)
}

func (f *lowerBound) read(conns []net.Conn, want []byte) error {
	if len(f.got) < len(want) {
		f.got = make([]byte, len(want))
	}
	got := f.got[:len(want)]
	for _, c := range conns {
		if _, err := io.ReadFull(c, got); err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("a master answered %.60q in place of %.60q", got, want)
		}
	}
	return nil
}
