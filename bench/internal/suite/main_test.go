package suite

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/bench/internal/load"
)

// TestMain runs a worker if the contention part has started this test binary as one.
func TestMain(m *testing.M) {
	if isWorker() {
		os.Exit(runAsWorker(os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

const ms = time.Millisecond

// fakePairer takes a fixed time for each lock, and fails as fail says.
type fakePairer struct {
	lock time.Duration
	fail func(pair int) error
}

func (f *fakePairer) Pair(ctx context.Context, _ string) (load.Timestamps, error) {
	time.Sleep(f.lock)
	locked := load.Timestamps{Locked: time.Now()}
	if f.fail != nil {
		return locked, f.fail(1)
	}
	return locked, ctx.Err()
}

func (*fakePairer) Close() error { return nil }

func histogramOf(waits map[time.Duration]int64) *hdrhistogram.Histogram {
	h := load.NewHistogram()
	for d, n := range waits {
		_ = h.RecordValues(int64(d), n)
	}
	return h
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }
