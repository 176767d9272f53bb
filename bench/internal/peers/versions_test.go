package peers

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVersionsAreThoseOfTheBuild(t *testing.T) {
	t.Parallel()
	got := versionsIn([]*debug.Module{
		{Path: "github.com/bsm/redislock", Version: "v0.10.0"},
		{Path: "github.com/other/module", Version: "v9.9.9"},
		{Path: "github.com/go-redsync/redsync/v4", Version: "v4.1.0", Replace: &debug.Module{Version: "v4.2.0"}},
	})
	assert.Equal(t, []Version{{"redsync", "v4.2.0"}, {"bsm/redislock", "v0.10.0"}}, got)
}

func TestEveryLibraryIsAModuleOfTheBenchmark(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	for _, l := range libraries {
		assert.Contains(t, string(mod), "\t"+l.module+" v", l.name)
	}
}

func TestLabelsAreDistinctAndPickTheirContestants(t *testing.T) {
	t.Parallel()
	labels := map[string]bool{}
	for _, c := range All() {
		assert.False(t, labels[Label(c.Name)], c.Name)
		labels[Label(c.Name)] = true
		picked, err := Pick(All(), Label(c.Name))
		require.NoError(t, err)
		require.Len(t, picked, 1)
		assert.Equal(t, c.Name, picked[0].Name)
	}
	assert.Equal(t, "bsm/redislock", Label(Redislock))
}
