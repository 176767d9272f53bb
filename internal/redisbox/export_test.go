package redisbox

import (
	"context"

	"github.com/redlock-go/redlock/internal/redisbox/redisimage"
)

// Owner is the process to which new containers belong.
var Owner = &owner

// Sweep removes leftovers, as the first Start of a process does.
func Sweep(ctx context.Context) error {
	docker, err := redisimage.Docker(ctx)
	if err != nil {
		return err
	}
	defer docker.Close()
	sweep(ctx, docker)
	return nil
}
