// Command redisimage prints the name of a container image with a Redis server in it, and makes one if need be; what
// takes a while is reported on standard error.
//
//	export REDLOCK_REDIS_IMAGE=$(go run ./internal/redisbox/redisimage/cmd/redisimage)
//	docker compose -f docker-compose.5node.yml up -d
//
// It exits 1 if there is none, and with -check says only whether Docker is reachable.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/redlock-go/redlock/internal/redisbox/redisimage"
)

func main() {
	check := flag.Bool("check", false, "only say whether Docker is reachable")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *check)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "redisimage:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, check bool) error {
	if check {
		return redisimage.Available(ctx)
	}
	name, err := redisimage.Name(ctx, os.Stderr)
	if err == nil {
		fmt.Println(name)
	}
	return err
}
