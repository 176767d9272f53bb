package main

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
)

// floor is a lower bound of what a quorum lock costs: the bytes of redlock's own two commands, prepared for all
// callers, written at once on one connection per master. A batch is done when a majority has answered, as a lock is;
// the other masters' replies are read after the next batch was written. There is nothing in it but the masters' work
// and the system's.
type floor struct {
	urls  []string
	ttl   time.Duration
	rec   recording
	conns []net.Conn
	got   []byte
	late  []byte // the replies that the masters beyond the majority still owe
}

func openFloor(urls []string, o openOptions) (pairer, error) {
	return &floor{urls: urls, ttl: o.ttl}, nil
}

const floorPatience = 10 * time.Second // for one batch

var errBatchesOnly = errors.New("the floor works in batches")

// Pair is not what the floor does.
func (f *floor) Pair(context.Context, string) (marks, error) { return marks{}, errBatchesOnly }

func (f *floor) Close() error {
	var all []error
	for _, c := range f.conns {
		all = append(all, c.Close())
	}
	return errors.Join(all...)
}

// A batcher is measured by batches of its own, not by callers.
type batcher interface {
	Batches(ctx context.Context, l load) (*sample, error)
}

// Batches writes as many locks at once as the load has callers, then as many unlocks, again and again.
func (f *floor) Batches(ctx context.Context, l load) (*sample, error) {
	if err := f.connect(ctx); err != nil {
		return nil, err
	}
	lock, unlock := f.rec.times(l.callers, f.rec.lock), f.rec.times(l.callers, f.rec.unlock)
	s := &sample{pair: histogram(), lock: histogram(), extend: histogram(), unlock: histogram()}
	runtime.GC()
	var from time.Time
	var before uint64
	for begun := time.Now(); ctx.Err() == nil; {
		started := time.Now()
		if from.IsZero() && started.Sub(begun) >= l.ramp {
			from, before = started, allocations()
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
		put(s.pair, ended.Sub(started))
		put(s.lock, locked.Sub(started))
		put(s.unlock, ended.Sub(locked))
		s.pairs += int64(l.callers)
		if s.elapsed = ended.Sub(from); s.elapsed >= l.window {
			s.allocs = float64(allocations()-before) / float64(s.pairs)
			return s, f.settle()
		}
	}
	return nil, ctx.Err()
}

func (f *floor) connect(ctx context.Context) (err error) {
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
			return errors.New("the floor speaks to masters without password, TLS or database number only: name other -contestants")
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
func (f *floor) load(ctx context.Context) error {
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
func (f *floor) exchange(e exchange) error {
	until := time.Now().Add(floorPatience)
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
	if err := f.settle(); err != nil {
		return err
	}
	f.late = e.reply
	return nil
}

// settle reads the outstanding replies of the masters beyond the majority.
func (f *floor) settle() error {
	late := f.late
	f.late = nil
	return f.read(f.conns[len(f.conns)/2+1:], late)
}

func (f *floor) read(conns []net.Conn, want []byte) error {
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
