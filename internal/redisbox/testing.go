package redisbox

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/need"
	"github.com/redlock-go/redlock/internal/redisbox/redisimage"
)

const imageTimeout = 3 * time.Minute // make image gets it beforehand, however long it takes

// usable returns an error that says what is missing if masters cannot be started. It looks for the image only once.
var usable = sync.OnceValue(func() error {
	ctx, cancel := context.WithTimeout(context.Background(), imageTimeout)
	defer cancel()
	_, err := redisimage.Name(ctx, io.Discard)
	return err
})

// Need skips the test if Docker is not reachable, or has no Redis image and cannot get one. Where [need.Docker] forbids
// skips, it fails the test instead.
func Need(t testing.TB) {
	t.Helper()
	need.SkipIf(t, need.Docker, usable())
}

// NeedBlackHole is [Need] for a test of [Master.BlackHole].
func NeedBlackHole(t testing.TB) {
	t.Helper()
	need.SkipIf(t, need.Docker, CanBlackHole())
}
