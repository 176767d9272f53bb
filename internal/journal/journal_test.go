package journal_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/journal"
)

// handler keeps lines. Each takes the time slow.
type handler struct {
	slog.Handler
	slow  time.Duration
	lines []string
}

func (*handler) Enabled(_ context.Context, level slog.Level) bool { return level > slog.LevelDebug }

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	time.Sleep(h.slow)
	line := []string{r.Message}
	if r.PC != 0 {
		line = append(line, "with a source")
	}
	r.Attrs(func(a slog.Attr) bool {
		line = append(line, a.String())
		return true
	})
	h.lines = append(h.lines, strings.Join(line, " "))
	return nil
}

// with runs a test in virtual time on a journal whose handler takes a time for each line.
func with(t *testing.T, slow time.Duration, test func(t *testing.T, j *journal.Journal, h *handler)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &handler{slow: slow}
		test(t, &journal.Journal{Logger: slog.New(h), Clock: clock.System}, h)
	})
}

func TestLinesAreWrittenInOrderAndCloseWaitsForThem(t *testing.T) {
	with(t, time.Second, func(t *testing.T, j *journal.Journal, h *handler) {
		began := time.Now()
		j.Close(began.Add(time.Hour))
		j.Log(slog.LevelInfo, "one", "n", 1)
		j.Log(slog.LevelDebug, "not enabled")
		j.Log(slog.LevelWarn, "two")
		assert.Equal(t, began, time.Now(), "Log waits for no handler")
		j.Close(began.Add(time.Hour))
		assert.Equal(t, []string{"one n=1", "two"}, h.lines)
		assert.Equal(t, 2*time.Second, time.Since(began))
		j.Log(slog.LevelInfo, "three")
		synctest.Wait()
		j.Close(time.Now().Add(10 * time.Millisecond))
		assert.Len(t, h.lines, 2, "Close gives up at the deadline")
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Len(t, h.lines, 3)
	})
}

func TestLinesWithoutALoggerAreDiscardedExceptThoseOfAdd(t *testing.T) {
	with(t, 0, func(t *testing.T, j *journal.Journal, h *handler) {
		to := j.Logger
		j.Logger = nil
		j.Log(slog.LevelInfo, "discarded")
		j.Repeat(slog.LevelInfo, "key", "discarded")
		j.Add(to, slog.LevelInfo, "added", nil)
		synctest.Wait()
		assert.Equal(t, []string{"added"}, h.lines)
	})
}

func TestARepeatedLineIsLeftOutForTheRestOfAMinute(t *testing.T) {
	with(t, 0, func(t *testing.T, j *journal.Journal, h *handler) {
		repeat := func(n int, key string) (written []string) {
			before := len(h.lines)
			for range n {
				j.Repeat(slog.LevelInfo, key, "refused", "node", key)
			}
			synctest.Wait()
			return h.lines[before:]
		}
		assert.Len(t, repeat(25, "a"), 20)
		assert.Len(t, repeat(21, "b"), 20, "another event")
		time.Sleep(time.Minute - 1)
		assert.Empty(t, repeat(1, "a"))
		time.Sleep(time.Nanosecond)
		assert.Equal(t, []string{"refused node=a left_out=6", "refused node=a"}, repeat(2, "a"))
		assert.Len(t, repeat(25, "a"), 18, "the next minute has begun")
		assert.Equal(t, []string{"refused node=b left_out=1"}, repeat(1, "b"))
	})
}

func TestLinesBeyondTheBoundAreDroppedAndCounted(t *testing.T) {
	const most = 1 << 16
	with(t, time.Millisecond, func(t *testing.T, j *journal.Journal, h *handler) {
		j.Log(slog.LevelInfo, "first")
		synctest.Wait() // the handler has it
		for n := range most + 1 {
			j.Log(slog.LevelInfo, strconv.Itoa(n))
		}
		j.Close(time.Now().Add(time.Hour))
		require.Len(t, h.lines, most+2)
		assert.Equal(t, strconv.Itoa(most-1), h.lines[most])
		assert.Equal(t, "redlock: the logger is slow; lines were dropped lines=1", h.lines[most+1])
		j.Log(slog.LevelInfo, "later")
		j.Close(time.Now().Add(time.Hour))
		assert.Equal(t, "later", h.lines[most+2], "the count is told once")
	})
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
