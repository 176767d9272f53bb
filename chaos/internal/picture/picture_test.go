package picture

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// acquired and released are the bounds of a hold of one worker, in milliseconds.
func hold(client, name string, op, acquired, released int) []history.Event {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	e := history.Event{Kind: history.Invoked, T: ms(acquired - 1), Client: client, Life: 1, Worker: 1, Op: op, Name: name}
	got, called := e, e
	got.Kind, got.T, got.Until, got.Fence = history.Acquired, ms(acquired), ms(acquired+1000), 7
	called.Kind, called.T = history.ReleaseCalled, ms(released)
	return []history.Event{e, got, called}
}

func TestThePictureShowsTheNameOfTheFirstFinding(t *testing.T) {
	t.Parallel()
	var events []history.Event
	for op := range 3 {
		events = append(events, hold("a", "busy", op, 10*op+10, 10*op+15)...)
	}
	wrong := hold("b", "one", 9, 40, 80)
	events = append(events, wrong...)
	events = append(events, hold("c", "one", 1, 100, 200)...)
	events = append(events, history.Event{
		T: 100 * time.Millisecond, Kind: history.Inject, Fault: "kill-master", On: "masters", Targets: []int{2},
	})
	history.Sort(events)

	d := draw("run", "printed", events, nil)
	assert.Equal(t, "busy", d.Name, "without a finding, the name with the most holds")

	d = draw("run", "printed", events, []check.Finding{{Text: "of no name"}, {Name: "one", Events: wrong}})
	assert.Equal(t, "one", d.Name)
	bars := make(map[string]string)
	for _, l := range d.Lanes {
		require.Len(t, l.Bars, 1, l.Label)
		bars[l.Label] = l.Bars[0].Class + ": " + l.Bars[0].Title
	}
	assert.Equal(t, map[string]string{
		"master 2":      "fault: kill-master, from 0.091 s to 0.191 s",
		"b.1, worker 1": "wrong: mutex, token 7, from 0.031 s to 0.071 s",
		"c.1, worker 1": "hold: mutex, token 7, from 0.091 s to 0.191 s",
	}, bars)
	last := d.Lanes[len(d.Lanes)-1].Bars[0]
	assert.InDelta(t, left+width, last.X+last.Width, 0.01, "it ends with the history")
}

func TestThePageEscapesWhatItShows(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "history.html")
	require.NoError(t, Save(file, "<run>", "<printed>", hold("<a>", "<name>", 1, 10, 20), nil))
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, text := range []string{
		"&lt;run&gt;", "&lt;printed&gt;", "&lt;a&gt;.1, worker 1", "&lt;name&gt;", `class="hold"`,
	} {
		assert.Contains(t, string(page), text)
	}
	require.NoError(t, Save(file, "run", "", nil, nil), "an empty history")
}
