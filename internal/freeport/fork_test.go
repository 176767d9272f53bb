package freeport_test

import (
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/freeport"
)

func TestPortsAreFreeAtOnceWhileProcessesAreForked(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not fork")
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				_ = exec.Command("true").Run()
			}
		}
	}()
	defer func() { close(stop); <-ended }()
	for range 300 {
		p, err := freeport.Reserve()
		require.NoError(t, err)
		for range 5 {
			l, err := freeport.Listen(p.Addr())
			require.NoError(t, err)
			require.NoError(t, l.Close())
		}
		p.Release()
	}
}
