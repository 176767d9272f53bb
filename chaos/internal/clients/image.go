package clients

import (
	"context"
	"debug/elf"
	"fmt"
	"math/rand/v2"

	"github.com/redlock-go/redlock/internal/redisbox"
	"github.com/redlock-go/redlock/internal/redisbox/redisimage"
)

// Image makes a container image of a program of this machine, with nothing in it but that, the shared libraries that it
// loads and /tmp, and returns its name, which no other has. It takes a fraction of a second.
func Image(ctx context.Context, program string) (string, error) {
	if f, err := elf.Open(program); err != nil {
		return "", fmt.Errorf("%s is no Linux program: %w", program, err)
	} else if err := f.Close(); err != nil {
		return "", err
	}
	name := fmt.Sprintf("redlock-chaos:%016x", rand.Uint64())
	changes := []string{`ENTRYPOINT ["/client"]`}
	for key, value := range redisbox.Labels() {
		changes = append(changes, fmt.Sprintf("LABEL %s=%q", key, value))
	}
	if err := redisimage.Pack(ctx, name, changes, program+"=/client"); err != nil {
		return "", fmt.Errorf("make the image %s of %s: %w", name, program, err)
	}
	return name, nil
}
