package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/redisbox"
)

// The image of the Dockerfile has the command alone, which runs as a user without rights.
func TestTheImageOfTheCommand(t *testing.T) {
	t.Parallel()
	redisbox.Need(t)
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "redlock"), "./cmd/redlock")
	build.Dir = ".."
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	const image = "redlock-command:test"
	docker := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "docker", args...).CombinedOutput()
		require.NoError(t, err, "docker %q: %s", args, out)
		return strings.TrimSpace(string(out))
	}
	docker("build", "--quiet", "--file", filepath.Join("..", "Dockerfile"), "--tag", image, dir)
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", "--force", image).Run() })

	assert.Contains(t, docker("run", "--rm", image, "--version"), "redlock ")
	assert.Contains(t, docker("run", "--rm", "--read-only", "--cap-drop", "ALL", image,
		"run", "--embedded", "name", "--", "/redlock", "version"), "redlock ")
	user := docker("inspect", "--format", "{{.Config.User}}", image)
	assert.Equal(t, "65532:65532", user)
}
