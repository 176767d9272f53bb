package history_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

func TestAWrittenHistoryReadsBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clock := history.NewClock()
	a, err := history.Create(filepath.Join(dir, "a.jsonl"), clock)
	require.NoError(t, err)
	b, err := history.Create(filepath.Join(dir, "b.jsonl"), clock)
	require.NoError(t, err)

	late := history.Event{
		T: 30, Kind: history.Acquired, Client: "a", Life: 2, Worker: 1, Op: 7, Name: "n\xff\n", Token: "t", TTL: time.Second,
		Until: 99,
	}
	early := history.Event{T: 10, Kind: history.Keys, Master: 1, Held: []history.Key{{Name: "n", Token: "t", Left: -1}}}
	a.Write(late)
	b.Write(early)
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())

	events, err := history.ReadDir(dir)
	require.NoError(t, err)
	late.Name = "n\uFFFD\n" // JSON has no way to say a byte that is no rune
	assert.Equal(t, []history.Event{early, late}, events)

	require.NoError(t, history.Save(filepath.Join(dir, "c.jsonl"), events))
	again, err := history.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, again, 4)
}

func TestOnlyATornLastLineIsDropped(t *testing.T) {
	t.Parallel()
	const event = `{"t":1,"kind":"invoked","master":0}` + "\n"
	dir := t.TempDir()
	for _, tt := range []struct{ text, says string }{
		{"", "no history"},
		{event + `{"t":2,"kind":"acqui`, ""},
		{event + `{"t":1,"ki` + "\n" + event, "a.jsonl:2: not an event"},
	} {
		if tt.text != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(tt.text), 0o600))
		}
		events, err := history.ReadDir(dir)
		if tt.says != "" {
			require.ErrorContains(t, err, tt.says)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, []history.Event{{T: 1, Kind: history.Invoked}}, events)
	}
}

func TestAHistoryIsNeverWrittenOverAnother(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.jsonl")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err := history.Create(path, history.NewClock())
	require.ErrorIs(t, err, os.ErrExist)
}

func TestTwoClocksOfOneMachineAgree(t *testing.T) {
	t.Parallel()
	a := history.NewClock()
	time.Sleep(10 * time.Millisecond)
	b := history.NewClock()
	now := time.Now()
	assert.InDelta(t, a.Of(now), b.Of(now), float64(time.Millisecond))
	assert.Equal(t, 5*time.Second, a.Of(now.Add(5*time.Second))-a.Of(now))
	first := a.Now()
	assert.GreaterOrEqual(t, a.Now(), first)
}
