// Package testmain runs the tests of packages that start goroutines and refuse connections.
package testmain

import (
	"context"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

// Run runs the tests of m and exits. A goroutine that is left fails the run. go-redis logs nothing: it would log each
// refused connection.
func Run(m goleak.TestingM, options ...goleak.Option) {
	redis.SetLogger(silent{})
	// A client that was refused looks once a second whether it has been closed.
	dials := goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial")
	goleak.VerifyTestMain(m, append(options, dials)...)
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
