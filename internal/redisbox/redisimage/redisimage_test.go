package redisimage_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/internal/redisbox"
	"github.com/redlock-go/redlock/internal/redisbox/redisimage"
	"github.com/redlock-go/redlock/internal/redisproc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// command runs cmd/redisimage, a process of its own: the Docker client reads its environment once.
func command(t *testing.T, env []string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "redisimage")
	out, err := exec.Command("go", "build", "-o", binary, "./cmd/redisimage").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), env...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err = cmd.Run()
	return o.String(), e.String(), err
}

func TestAnUnreachableDockerIsOneLineThatNamesIt(t *testing.T) {
	for _, args := range [][]string{nil, {"-check"}} {
		stdout, stderr, err := command(t, []string{"DOCKER_HOST=unix:///no/such/docker.sock"}, args...)
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		assert.Equal(t, 1, exit.ExitCode())
		assert.Empty(t, stdout)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		assert.Contains(t, stderr, "Docker is not reachable")
		assert.Contains(t, stderr, "/no/such/docker.sock")
	}
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
	assert.Less(t, time.Since(begin), 30*time.Second)
}

func TestAnImageThatIsHereIsUsedWithoutAWord(t *testing.T) {
	redisbox.Need(t)
	name, err := redisimage.Name(t.Context())
	require.NoError(t, err)
	stdout, stderr, err := command(t, []string{redisimage.Env + "=" + name})
	require.NoError(t, err, stderr)
	assert.Equal(t, name+"\n", stdout)
	assert.Empty(t, stderr)
}

// An image made by another recipe is not taken for the present one, and the new one takes its place.
func TestAnOldLocalImageIsMadeAnew(t *testing.T) {
	redisbox.Need(t)
	redisproc.Need(t) // to make an image of
	docker, err := redisimage.Docker(t.Context())
	require.NoError(t, err)
	name := "redlock-redis:test-recipe"
	t.Cleanup(func() {
		_, err := docker.ImageRemove(context.Background(), name, client.ImageRemoveOptions{})
		assert.NoError(t, err)
		docker.Close()
	})

	require.NoError(t, redisimage.BuildAs(t.Context(), docker, name, "0"))
	old, err := docker.ImageInspect(t.Context(), name)
	require.NoError(t, err)
	assert.False(t, redisimage.Current(t.Context(), docker, name))
	require.NoError(t, redisimage.BuildAs(t.Context(), docker, name, redisimage.Recipe))
	assert.True(t, redisimage.Current(t.Context(), docker, name))
	_, err = docker.ImageInspect(t.Context(), old.ID)
	assert.Error(t, err, "the old image is not left behind without a name")
}

func TestAMachineWithoutRedisIsToldWhatToInstall(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux is an image made of the machine's own server")
	}
	t.Setenv("PATH", t.TempDir())
	_, err := redisimage.Files(t.Context())
	require.Error(t, err)
	assert.Contains(t, err.Error(), "apt-get install redis-server")
	assert.Contains(t, err.Error(), redisimage.Env)
}

func TestLibrariesOfLddsOutput(t *testing.T) {
	for name, test := range map[string]struct {
		ldd  string
		want []string
		err  string
	}{
		"found by name, and the loader": {
			ldd:  "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibm.so.6 => /lib/x/libm.so.6 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n",
			want: []string{"/lib/x/libm.so.6", "/lib64/ld-linux-x86-64.so.2"},
		},
		"of two programs, each once": {
			ldd:  "/usr/bin/redis-server:\n\tlibc.so.6 => /lib/libc.so.6 (0x1)\n/usr/bin/redis-cli:\n\tlibc.so.6 => /lib/libc.so.6 (0x2)\n",
			want: []string{"/lib/libc.so.6"},
		},
		"static programs have none":    {ldd: "\tnot a dynamic executable\n"},
		"one that is missing is named": {ldd: "\tlibssl.so.3 => not found\n", err: "libssl.so.3"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := redisimage.Parse(test.ldd)
			if test.err != "" {
				assert.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestTheTreeHoldsThePrograms(t *testing.T) {
	dir := t.TempDir()
	server, library := filepath.Join(dir, "redis-server"), filepath.Join(dir, "libx.so")
	require.NoError(t, os.WriteFile(server, []byte("server"), 0o755))
	require.NoError(t, os.WriteFile(library, []byte("library"), 0o644))
	var archive bytes.Buffer
	require.NoError(t, redisimage.WriteTree(&archive, []string{server, library}))

	content := map[string]string{}
	for r := tar.NewReader(&archive); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		content["/"+header.Name] = string(b)
	}
	assert.Equal(t, "server", content["/usr/bin/redis-server"], "wherever it was found")
	assert.Equal(t, "library", content[library], "under its own path")
	assert.Contains(t, content["/etc/passwd"], "redis:")
	for _, directory := range []string{"/data/", "/tmp/", "/usr/bin/"} {
		assert.Contains(t, content, directory)
	}
}
