package main_test

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/freeport"
	"github.com/redlock-go/redlock/internal/testmain"
)

func TestDevRunsMastersUntilItIsInterrupted(t *testing.T) {
	t.Parallel()
	type testCase struct {
		args []string
		n    int
		stop os.Signal
	}
	testmain.Each(t, map[string]testCase{
		"five":  {nil, 5, os.Interrupt},
		"three": {[]string{"--nodes", "3"}, 3, syscall.SIGTERM},
		"one":   {[]string{"--nodes=1"}, 1, syscall.SIGHUP},
		"quit":  {nil, 5, syscall.SIGQUIT},
	}, func(t *testing.T, tc testCase) {
		p := launch(t, nil, append([]string{"dev"}, tc.args...)...)
		p.says("export REDLOCK_MASTERS=")
		lines := strings.Split(p.stdout.String(), "\n")
		urls := lines[:tc.n]
		for _, u := range urls {
			assert.Regexp(t, `^redis://127\.0\.0\.1:\d+$`, u)
		}
		assert.Contains(t, lines, "export REDLOCK_MASTERS="+strings.Join(urls, ","))
		status := redlock(t, nil, "status", "--masters", strings.Join(urls, ","))
		assert.Equal(t, 0, status.code, "all may vote at once")

		p.signal(tc.stop)
		assert.Equal(t, 0, p.wait())
		_, err := net.Dial("tcp", strings.TrimPrefix(urls[0], "redis://"))
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
	})
}

// A hangup does not end it under nohup.
func TestDevUnderNohup(t *testing.T) {
	t.Parallel()
	p := launchWith(t, nil, after("trap '' HUP"), "dev", "--nodes", "1")
	p.says("export REDLOCK_MASTERS=")
	p.signal(syscall.SIGHUP)
	url, _, _ := strings.Cut(p.stdout.String(), "\n")
	assert.Equal(t, 0, redlock(t, nil, "status", "--masters", url).code)
	p.signal(os.Interrupt)
	assert.Equal(t, 0, p.wait())
}

func TestDevOnGivenPorts(t *testing.T) {
	t.Parallel()
	first := freePorts(t, 3)
	args := []string{"dev", "--nodes", "3", "--port", strconv.Itoa(first)}
	launch(t, nil, args...).says(
		fmt.Sprintf("export REDLOCK_MASTERS=redis://127.0.0.1:%d,redis://127.0.0.1:%d,", first, first+1),
	)
	redlock(t, nil, args...).fails(t, 1, strconv.Itoa(first), "--port")
}

// freePorts returns the first of n neighboring ports. No test that reserves its ports gets them before t ends.
func freePorts(t *testing.T, n int) int {
	t.Helper()
search:
	for range 100 {
		first, err := freeport.Reserve()
		require.NoError(t, err)
		t.Cleanup(first.Release)
		for i := 1; i < n; i++ {
			neighbor := "127.0.0.1:" + strconv.Itoa(first.Number()+i)
			lock, err := net.ListenPacket("udp", neighbor) // as Reserve locks a port
			if err != nil {
				continue search
			}
			t.Cleanup(func() { _ = lock.Close() })
			l, err := net.Listen("tcp", neighbor)
			if err != nil {
				continue search
			}
			require.NoError(t, l.Close())
		}
		return first.Number()
	}
	t.Fatal("no neighboring ports are free")
	return 0
}
