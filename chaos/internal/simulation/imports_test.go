package simulation_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the simulation imports must compile for wasip1. Docker and the proxy do not.
func TestTheSimulationImportsNeitherDockerNorAProxy(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}}", ".")
	cmd.Env = append(cmd.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	deps := strings.Fields(string(out))
	assert.Contains(t, deps, "github.com/redlock-go/redlock/internal/simnet")
	for _, d := range deps {
		for _, not := range []string{"testcontainers", "docker", "moby", "toxiproxy", "redisbox"} {
			assert.NotContains(t, d, not)
		}
	}
}
