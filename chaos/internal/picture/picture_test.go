package picture

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/handmade"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

func TestThePictureShowsTheNameOfTheFirstFinding(t *testing.T) {
	t.Parallel()
	wrong := handmade.History("b holds 40-80 asked=39 name=one #7")
	events := append(handmade.History(`
		a holds 10-15 asked=9 name=busy; a holds 20-25 asked=19 name=busy op=2; a holds 30-35 asked=29 name=busy op=3;
		c keeps 100-1100 asked=99 name=one #7; c calls 200 name=one; kill-master injected 100 on=2`), wrong...)
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
		"b.0, worker 0": "wrong: mutex, token 7, from 0.031 s to 0.071 s",
		"c.0, worker 0": "hold: mutex, token 7, from 0.091 s to 0.191 s",
	}, bars)
	last := d.Lanes[len(d.Lanes)-1].Bars[0]
	assert.InDelta(t, left+width, last.X+last.Width, 0.01, "it ends with the history")
}

func TestThePageEscapesWhatItShows(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "history.html")
	require.NoError(t, Save(file, "<run>", "<printed>", handmade.History("<a> holds 10-20 name=<name>"), nil))
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, text := range []string{
		"&lt;run&gt;", "&lt;printed&gt;", "&lt;a&gt;.0, worker 0", "&lt;name&gt;", `class="hold"`,
	} {
		assert.Contains(t, string(page), text)
	}
	require.NoError(t, Save(file, "run", "", nil, nil), "an empty history")
}
