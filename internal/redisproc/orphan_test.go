package redisproc_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/redisproc"
)

// parentVar makes this test binary a parent of a frozen and of a running server, and names how it ends.
const parentVar = "REDISPROC_TEST_PARENT"

// parent starts two servers, freezes one, prints their addresses, and dies without closing them.
func parent() {
	servers, err := redisproc.StartN(context.Background(), 2)
	if err != nil {
		panic(err)
	}
	if err := servers[0].Freeze(); err != nil {
		panic(err)
	}
	fmt.Println(servers[0].Addr(), servers[1].Addr())
	if os.Getenv(parentVar) == "panic" {
		panic("as asked")
	}
	select {} // until it is killed
}

func TestNoServerOutlivesAParentThatDied(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("this system has no signal for a parent's death; the package's doc says so")
	}
	redisproc.Need(t)
	for _, end := range []string{"panic", "kill"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), parentVar+"="+end, "TMPDIR="+t.TempDir())
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			line, err := bufio.NewReader(out).ReadString('\n')
			if end == "kill" {
				require.NoError(t, cmd.Process.Kill())
			}
			require.NoError(t, err)
			require.Error(t, cmd.Wait(), "it did not end by itself")

			for _, addr := range strings.Fields(line) {
				assert.Eventually(t, refused(addr), soon, 10*time.Millisecond)
			}
		})
	}
}
