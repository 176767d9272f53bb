package main

import (
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/need"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/wallclock"
)

// Each incident is reported by the sources that must report it, and by no other.
func TestTheDay(t *testing.T) {
	t.Parallel()
	redisproc.Need(t)
	need.SkipIf(t, need.Redis, wallclock.Available())
	_, missing := exec.LookPath("prometheus")
	need.SkipIf(t, need.Prometheus, missing)
	all, err := run(t.Context(), t.Output(), 0)
	require.NoError(t, err)
	require.Len(t, all, len(incidents))
	for i, a := range all {
		expected := incidents[i].reports
		got := slices.DeleteFunc(slices.Collect(maps.Keys(a.reports)), func(source string) bool {
			_, must := expected[source]
			return !must && isStall(a.reports[source].what) && strings.Contains(a.reports[byDoctor].what, "stalled")
		})
		assert.ElementsMatch(t, slices.Collect(maps.Keys(expected)), got, "%s", a)
	}
}

// isStall reports whether a report says that a master was silent for longer than the node timeout. A busy machine can
// stall a master for that long during any incident. The library must report that, and so must doctor.
func isStall(what string) bool {
	return strings.Contains(what, "no answer in time") || what == "redlock_node_state suspect"
}

// docs/masters.md has a row for each incident, with a time for each source that reports it, and the users of the
// masters here.
func TestTheDocumentIsTheDay(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/masters.md")
	require.NoError(t, err)
	for _, in := range incidents {
		row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(in.what) + ` \|.*$`).FindString(string(text))
		cells := strings.Split(strings.Trim(row, "| "), "|")
		require.Len(t, cells, 1+len(sources), "%s: %s", in.what, row)
		for i, by := range sources {
			if _, reports := in.reports[by]; reports {
				assert.Regexp(t, `\d s`, cells[1+i], "%s by %s", in.what, by)
			} else {
				assert.Equal(t, "—", strings.TrimSpace(cells[1+i]), "%s by %s", in.what, by)
			}
		}
	}
	assert.Contains(t, string(text), "\n"+locksUser+"\n")
	assert.Contains(t, strings.Join(strings.Fields(string(text)), " "), "`"+doctorUser+"`")
}
