package redisimage_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/internal/redisbox"
	"github.com/redlock-go/redlock/internal/redisbox/redisimage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// command runs cmd/redisimage, a process of its own: the Docker client reads its environment once.
func command(t *testing.T, env []string) (stdout, stderr string, err error) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "redisimage")
	out, err := exec.Command("go", "build", "-o", binary, "./cmd/redisimage").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = append(os.Environ(), env...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err = cmd.Run()
	return o.String(), e.String(), err
}

func TestAnUnreachableDockerIsOneLineThatNamesIt(t *testing.T) {
	stdout, stderr, err := command(t, []string{"DOCKER_HOST=unix:///no/such/docker.sock"})
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 1, exit.ExitCode())
	assert.Empty(t, stdout)
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	assert.Contains(t, stderr, "Docker is not reachable")
	assert.Contains(t, stderr, "/no/such/docker.sock")
}

func TestAnImageThatCannotBePulledIsReplacedSoonAndSaysSo(t *testing.T) {
	redisbox.Need(t)
	if runtime.GOOS != "linux" {
		t.Skip("the replacement is made of this machine's Linux redis-server")
	}
	begin := time.Now()
	stdout, stderr, err := command(t, []string{redisimage.Env + "=127.0.0.1:1/no/such:image"})
	require.NoError(t, err, stderr)
	assert.Equal(t, redisimage.Local+"\n", stdout, "the name alone, for $(...)")
	assert.Contains(t, stderr, "127.0.0.1:1/no/such:image")
	assert.Less(t, time.Since(begin), 3*time.Minute)
}

func TestAnImageThatIsHereIsUsedWithoutAWord(t *testing.T) {
	redisbox.Need(t)
	name, err := redisimage.Name(t.Context(), io.Discard)
	require.NoError(t, err)
	stdout, stderr, err := command(t, []string{redisimage.Env + "=" + name})
	require.NoError(t, err, stderr)
	assert.Equal(t, name+"\n", stdout)
	assert.Empty(t, stderr)
}

func TestWithoutRedisTheErrorSaysWhatToInstall(t *testing.T) {
	redisbox.Need(t)
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux is an image made of the machine's own server")
	}
	path := t.TempDir()
	for _, tool := range []string{"bash", "docker", "uname"} {
		at, err := exec.LookPath(tool)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(at, filepath.Join(path, tool)))
	}
	cmd := exec.CommandContext(t.Context(), "bash", "image.sh", "make_redis")
	cmd.Env = append(os.Environ(), "PATH="+path)
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "apt-get install redis-server")
	assert.Contains(t, string(out), redisimage.Env)
}
