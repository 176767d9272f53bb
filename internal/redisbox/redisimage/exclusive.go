package redisimage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/redlock-go/redlock/clock"
)

// abandoned is the age from which a lock file is taken for one whose process died: making the image takes a second.
const abandoned = time.Minute

// exclusive keeps other processes of this machine from making the image at the same time, which would leave nameless
// images behind, until unlock is called.
func exclusive(ctx context.Context) (unlock func(), err error) {
	file := filepath.Join(os.TempDir(), "redlock-redis-image.lock")
	for {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if err == nil {
			f.Close()
			return func() { os.Remove(file) }, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if info, err := os.Stat(file); err == nil && clock.System.Now().Sub(info.ModTime()) > abandoned {
			os.Remove(file)
			continue
		}
		if err := clock.Sleep(ctx, clock.System, 100*time.Millisecond); err != nil {
			return nil, fmt.Errorf("wait for the process that holds %s: %w", file, err)
		}
	}
}
