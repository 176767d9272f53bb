// Command redisimage prints the name of a container image with a Redis server in it, and makes one if need be; what
// takes a while is reported on standard error.
//
//	export REDLOCK_REDIS_IMAGE=$(go run ./internal/redisbox/redisimage/cmd/redisimage)
//	docker compose -f docker-compose.5node.yml up -d
//
// It exits 1 if there is none.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/redlock-go/redlock/internal/redisbox/redisimage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	name, err := redisimage.Name(ctx, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "redisimage:", err)
		os.Exit(1)
	}
	fmt.Println(name)
}
