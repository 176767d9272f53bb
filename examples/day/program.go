package main

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/redlock-go/redlock"
	redlockprom "github.com/redlock-go/redlock/contrib/prometheus"
)

// program holds one lock all day, and acquires another one up to twenty times a second.
type program struct {
	locker  *redlock.Locker
	held    *redlock.Lock
	log     *log
	metrics *httptest.Server
	working sync.WaitGroup
	end     context.CancelFunc
}

func startProgram(ctx context.Context, masters []*master, p *pki) (*program, error) {
	w := &program{log: &log{}}
	var err error
	logger := slog.New(slog.NewTextHandler(w.log, nil))
	w.locker, err = redlock.Open(urls(masters, "redlock"), redlock.WithTLSConfig(p.config), redlock.WithLogger(logger))
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(redlockprom.New(w.locker))
	w.metrics = httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))

	// The masters have just started, and may not vote until the restart window has passed.
	if w.held, err = w.locker.Lock(ctx, "orders:nightly"); err != nil {
		return nil, err
	}
	ctx, w.end = context.WithCancel(ctx)
	w.working.Go(func() {
		for ctx.Err() == nil {
			_ = w.locker.Do(ctx, "orders:42", func(context.Context) error { return nil }) // Stats count what failed
			time.Sleep(50 * time.Millisecond)
		}
	})
	return w, nil
}

func (w *program) stop() {
	w.end()
	w.working.Wait()
	_ = w.held.Unlock(context.Background())
	_ = w.locker.Close()
	w.metrics.Close()
}

// log keeps the lines that the program logs, and when.
type log struct {
	mu    sync.Mutex
	lines []line
}

type line struct {
	at   time.Time
	text string
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for text := range bytes.Lines(p) {
		l.lines = append(l.lines, line{time.Now(), string(text)})
	}
	return len(p), nil
}

// about returns the first line since a time with this text in it.
func (l *log) about(text string, since time.Time) (line, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.lines {
		if one.at.After(since) && strings.Contains(one.text, text) {
			return one, true
		}
	}
	return line{}, false
}
