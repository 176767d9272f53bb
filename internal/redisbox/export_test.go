package redisbox

import (
	"context"

	"github.com/redlock-go/redlock/internal/redisbox/redisimage"
)

// LabelPID is the label with the owner's process id.
const LabelPID = labelPID

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
