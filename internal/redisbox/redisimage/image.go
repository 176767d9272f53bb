// Package redisimage finds a container image with a Redis server in it: the one asked for where there is a registry to
// get it from, one made of this machine's own redis-server where there is none.
//
// Everything here that starts Redis in containers asks this package, so that Makefile, compose file and tests use one
// image. Both kinds take redis-server flags as their command and have redis-cli on the path; the locally made one has
// no shell.
package redisimage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/moby/moby/client"
)

const (
	// Env names the environment variable with the image to use.
	Env = "REDLOCK_REDIS_IMAGE"
	// Stock is the image to use where Env is not set.
	Stock = "redis:7-alpine"
	// Local is the image made here when the one asked for can neither be found nor pulled.
	Local = "redlock-redis:local"
)

const (
	answerTimeout = 20 * time.Second // until a registry has said that it has the image
	pullTimeout   = 5 * time.Minute  // until the image is here
)

// Name returns the name of an image that is present: the one in Env (default Stock) if it is here or can be pulled, and
// else Local, which it makes if it is not here yet. With Env unset, a Local made before is used without asking a registry
// again. It needs a reachable Docker.
func Name(ctx context.Context) (string, error) { return Prepare(ctx, io.Discard) }

// Prepare is [Name] that tells on progress what it does whenever it takes a while.
func Prepare(ctx context.Context, progress io.Writer) (string, error) {
	docker, err := Docker(ctx)
	if err != nil {
		return "", err
	}
	defer docker.Close()

	wanted := os.Getenv(Env)
	if wanted == "" {
		if present(ctx, docker, Stock) {
			return Stock, nil
		}
		if current(ctx, docker) {
			return Local, nil
		}
		wanted = Stock
	}
	if wanted != Local {
		if present(ctx, docker, wanted) {
			return wanted, nil
		}
		fmt.Fprintf(progress, "redisimage: pulling %s\n", wanted)
		pullErr := pull(ctx, docker, wanted)
		if pullErr == nil {
			return wanted, nil
		}
		if err := ctx.Err(); err != nil {
			return "", fmt.Errorf("pull %s: %w", wanted, err)
		}
		fmt.Fprintf(progress, "redisimage: %s is not here and cannot be pulled (%s)\n", wanted, oneLine(pullErr))
	}
	if current(ctx, docker) {
		return Local, nil
	}
	fmt.Fprintf(progress, "redisimage: making %s of this machine's redis-server\n", Local)
	if err := build(ctx, docker); err != nil {
		return "", fmt.Errorf("make image %s: %w", Local, err)
	}
	if !current(ctx, docker) {
		return "", fmt.Errorf("make image %s: Docker took it, but does not have it", Local)
	}
	return Local, nil
}

func present(ctx context.Context, docker *client.Client, name string) bool {
	_, err := docker.ImageInspect(ctx, name)
	return err == nil
}

// current reports whether Local is here and was made by this recipe.
func current(ctx context.Context, docker *client.Client) bool { return currentAs(ctx, docker, Local) }

func currentAs(ctx context.Context, docker *client.Client, name string) bool {
	image, err := docker.ImageInspect(ctx, name)
	return err == nil && image.Config != nil && image.Config.Labels[recipeLabel] == recipe
}

// pull gets an image from its registry. A registry that does not answer at all is given up long before a slow one.
func pull(ctx context.Context, docker *client.Client, name string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, pullTimeout, fmt.Errorf("not here after %v", pullTimeout))
	defer cancel()
	ctx, silent := context.WithCancelCause(ctx)
	defer silent(nil)

	answered, stop := context.WithTimeout(ctx, answerTimeout)
	defer stop()
	unwatch := context.AfterFunc(answered, func() { silent(fmt.Errorf("no answer within %v", answerTimeout)) })
	defer unwatch()

	stream, err := docker.ImagePull(ctx, name, client.ImagePullOptions{})
	if err != nil {
		return because(ctx, err)
	}
	defer stream.Close()
	for message, err := range stream.JSONMessages(ctx) {
		switch {
		case err != nil:
			return because(ctx, err)
		case message.Error != nil:
			return message.Error
		}
		unwatch()
	}
	return because(ctx, ctx.Err())
}

// because prefers the reason for which a context was ended to the error that its end caused.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && err != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
