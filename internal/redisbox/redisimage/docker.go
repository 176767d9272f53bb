package redisimage

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

// reachTimeout bounds how long a Docker that does not answer is waited for.
const reachTimeout = 15 * time.Second

var prepare sync.Once

// Docker returns a client of the Docker that testcontainers-go uses too (DOCKER_HOST, its properties file, or the local
// socket), after it has answered. The error of one that cannot be reached is a single line.
func Docker(ctx context.Context) (*client.Client, error) {
	prepare.Do(func() {
		// testcontainers-go reads these once, at its first call. Its reaper is another image, to be had from a registry.
		setDefault("TESTCONTAINERS_RYUK_DISABLED", "true")
		tclog.SetDefault(tclog.NewNoopLogger())
	})
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	tc, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return nil, unreachable(err)
	}
	// An address that was given and does not answer is an error here; testcontainers-go would fall back to the local
	// socket.
	if given := os.Getenv("DOCKER_HOST"); given != "" && tc.DaemonHost() != given {
		tc.Close()
		return nil, unreachable(fmt.Errorf("nothing answers at DOCKER_HOST=%s", given))
	}
	info, err := tc.Info(ctx, client.InfoOptions{})
	if err != nil {
		return nil, unreachable(err)
	}
	// Inside a container testcontainers-go takes the default gateway for the Docker host. That is right if the socket is
	// the host's, mounted; it is wrong, and waits for a minute, if the daemon runs next to this container.
	if name, err := os.Hostname(); err == nil && name == info.Info.Name && strings.HasPrefix(tc.DaemonHost(), "unix://") {
		setDefault("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")
	}
	return tc.Client, nil
}

func unreachable(err error) error {
	return fmt.Errorf("Docker is not reachable: %s", strings.Join(strings.Fields(err.Error()), " "))
}

func setDefault(key, value string) {
	if _, set := os.LookupEnv(key); !set {
		os.Setenv(key, value)
	}
}
