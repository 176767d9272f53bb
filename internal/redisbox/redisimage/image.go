// Package redisimage finds or makes a container image with a Redis server, for the tests, the chaos harness and the
// compose file, where there may be no registry. The work is done by image.sh, which needs bash and the docker command.
package redisimage

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/redlock-go/redlock/internal/wallclock"
)

//go:embed image.sh
var script string

const (
	// Env names the environment variable with the image to use.
	Env = "REDLOCK_REDIS_IMAGE"
	// Local is the image that is made of this machine's redis-server.
	Local = "redlock-redis:local"
	// ClockLibrary is the path, in Local, of the library that gives a server a clock of its own when it is preloaded (see
	// package wallclock). [HasClock] reports whether an image has it.
	ClockLibrary = "/usr/lib/redlock-wallclock.so"

	clockLabel    = "io.github.redlock-go.clock"
	clockVariable = "REDLOCK_CLOCK_LIBRARY"
)

// Name returns the name of an image with a Redis server that is present: the one in Env (default redis:7-alpine) if it
// is here or can be pulled, and otherwise Local, which Name makes if it must. It writes on progress what takes a while.
//
// Every image takes redis-server flags as its command and has redis-cli on the path; Local has no shell.
func Name(ctx context.Context, progress io.Writer) (string, error) {
	docker, err := Docker(ctx)
	if err != nil {
		return "", err
	}
	docker.Close()
	env := os.Environ()
	if wallclock.Available() == nil {
		library, err := os.CreateTemp("", "redlock-wallclock-*.so")
		if err != nil {
			return "", err
		}
		defer os.Remove(library.Name())
		if err := errors.Join(library.Close(), wallclock.Build(ctx, library.Name())); err != nil {
			return "", err
		}
		env = append(env, clockVariable+"="+library.Name())
	}
	cmd := exec.CommandContext(ctx, "bash", "-c", script, "image.sh", "redis")
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, io.MultiWriter(&errs, progress)
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("image.sh: %w: %s", err, strings.Join(strings.Fields(errs.String()), " "))
	}
	return strings.TrimSpace(out.String()), nil
}

// HasClock returns nil if the image has [ClockLibrary], and otherwise the reason.
func HasClock(ctx context.Context, image string) error {
	docker, err := Docker(ctx)
	if err != nil {
		return err
	}
	defer docker.Close()
	found, err := docker.ImageInspect(ctx, image)
	switch {
	case err != nil:
		return err
	case found.Config != nil && found.Config.Labels[clockLabel] == "true":
		return nil
	case image != Local:
		return fmt.Errorf(
			"the image %s has no library for a clock of its own: %s, made here, has it (%s=%[2]s)",
			image,
			Local,
			Env,
		)
	default:
		return fmt.Errorf("the image %s was made on a machine without gcc, so its clock cannot be moved: install gcc and "+
			"libc6-dev, remove the image, make it again", image)
	}
}
