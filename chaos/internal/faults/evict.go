package faults

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// The junk is twice the room that there is for it, and written over again within less than a second: Redis counts idle
// time in whole seconds, so a lock without an access for a second is older than any of it.
const (
	junkRoom  = 1 << 20
	junkSize  = 32 << 10
	junkKeys  = 2 * junkRoom / junkSize
	junkPause = 10 * time.Millisecond
)

// pressure is the streams of junk into masters that evict.
type pressure struct {
	control MasterControl
	mu      sync.Mutex
	streams map[int]*stream
}

type stream struct {
	stop    context.CancelFunc
	done    chan struct{}
	written int // valid when done is closed
	err     error
}

func evict(m MasterControl) effect {
	p := &pressure{control: m, streams: map[int]*stream{}}
	return effect{nil, p.inject, p.heal}
}

func (p *pressure) inject(ctx context.Context, master int) error {
	used, err := p.usedMemory(ctx, master)
	if err != nil {
		return err
	}
	err = send(ctx, p.control, master, "CONFIG SET maxmemory-policy allkeys-lru", "CONFIG SET maxmemory-samples 10",
		"CONFIG SET maxmemory "+strconv.Itoa(used+junkRoom))
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // it outlives the call, until heal
	s := &stream{stop: stop, done: make(chan struct{})}
	p.mu.Lock()
	p.streams[master] = s
	p.mu.Unlock()
	go func() {
		defer close(s.done)
		p.write(ctx, master, s)
	}()
	return nil
}

func (p *pressure) write(ctx context.Context, master int, s *stream) {
	junk := strings.Repeat("x", junkSize)
	tick := time.NewTicker(junkPause)
	defer tick.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		if _, err := p.control.Do(ctx, master, "SET", history.JunkPrefix+strconv.Itoa(i%junkKeys), junk); err == nil {
			s.written++
		} else if ctx.Err() == nil {
			s.err = err
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (p *pressure) heal(ctx context.Context, master int) error {
	p.mu.Lock()
	s := p.streams[master]
	delete(p.streams, master)
	p.mu.Unlock()
	var errs []error
	if s != nil {
		s.stop()
		<-s.done
		if s.written == 0 {
			err := fmt.Errorf("no junk was written, so nothing was evicted: %v", s.err) //nolint:errorlint // it may be nil
			errs = append(errs, err)
		}
	}
	errs = append(errs, send(ctx, p.control, master, enough...))
	del := []any{"DEL"}
	for i := range junkKeys {
		del = append(del, history.JunkPrefix+strconv.Itoa(i))
	}
	_, err := p.control.Do(ctx, master, del...)
	return errors.Join(append(errs, err)...)
}

// usedMemory returns how many bytes the master uses now.
func (p *pressure) usedMemory(ctx context.Context, master int) (int, error) {
	info, err := p.control.Do(ctx, master, "INFO", "memory")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(fmt.Sprint(info)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); ok {
			return strconv.Atoi(value)
		}
	}
	return 0, errors.New("INFO names no used_memory")
}
