package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

func TestWhatIsTooLongIsRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		ctx := t.Context()
		name := strings.Repeat("é", 2049) // 4,098 bytes
		owner, token := strings.Repeat("o", 1025), strings.Repeat("t", 4097)
		var names []string
		for i := range 257 {
			names = append(names, fmt.Sprintf("name-%03d", i))
		}
		for what, c := range map[string]struct {
			call func() error
			want []string
		}{
			"Lock":         {func() error { _, err := l.Lock(ctx, name); return err }, []string{"name", "4098", "4096"}},
			"TryLock":      {func() error { _, err := l.TryLock(ctx, name); return err }, []string{"name", "4098", "4096"}},
			"Do":           {func() error { return l.Do(ctx, name, nil) }, []string{"name", "4098", "4096"}},
			"Inspect":      {func() error { _, err := l.Inspect(ctx, name); return err }, []string{"name", "4098", "4096"}},
			"RW.Lock":      {func() error { _, err := l.RW(name).Lock(ctx); return err }, []string{"name", "4098", "4096"}},
			"RW.RLock":     {func() error { _, err := l.RW(name).RLock(ctx); return err }, []string{"name", "4098", "4096"}},
			"Reentrant":    {func() error { _, err := l.Reentrant(name, "me").Lock(ctx); return err }, []string{"name", "4098", "4096"}},
			"its owner":    {func() error { _, err := l.Reentrant("x", owner).Lock(ctx); return err }, []string{"owner", "1025", "1024"}},
			"LockAll":      {func() error { _, err := l.LockAll(ctx, []string{"x", name}); return err }, []string{"name", "4098", "4096"}},
			"its names":    {func() error { _, err := l.LockAll(ctx, names); return err }, []string{"257 names", "name-000", "256"}},
			"TryLockAll":   {func() error { _, err := l.TryLockAll(ctx, names); return err }, []string{"257 names", "256"}},
			"Attach":       {func() error { _, err := l.Attach(ctx, name, "token"); return err }, []string{"name", "4098", "4096"}},
			"its token":    {func() error { _, err := l.Attach(ctx, "x", token); return err }, []string{"token", "4097", "4096"}},
			"Open's owner": {func() error { _, err := redlock.Open(w.URLs(), redlock.WithOwner(owner)); return err }, []string{"owner", "1025", "1024"}},
		} {
			err := c.call()
			require.Error(t, err, what)
			for _, part := range c.want {
				require.ErrorContains(t, err, part, what)
			}
			assert.True(t, strings.HasPrefix(err.Error(), "redlock: "), err.Error())
			assert.Less(t, len(err.Error()), 250, "%s: the text is truncated", what)
			assert.True(t, utf8.ValidString(err.Error()), err.Error())
			assert.NotContains(t, err.Error(), `\x`, "it is cut between runes")
		}
		synctest.Wait()
		for _, m := range w.Masters() {
			assert.Zero(t, m.Dials())
		}
	})
}

func TestTheLongestThatIsAllowedWorks(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a", redlock.WithOwner(strings.Repeat("o", 1024)))
		ctx := context.Background()
		name := func(i int) string { return fmt.Sprintf("%04096d", i) }
		lk := lock(t, l, name(0), redlock.WithFencing())
		attached, err := l.Attach(ctx, name(0), lk.Token())
		require.NoError(t, err)
		unlock(t, attached)
		var names []string
		for i := range 256 {
			names = append(names, name(i))
		}
		all, err := l.TryLockAll(ctx, append(names, names...), redlock.WithFencing())
		require.NoError(t, err, "repetitions do not count")
		unlock(t, all)
		owned, err := l.Reentrant(name(1), strings.Repeat("o", 1024)).TryLock(ctx)
		require.NoError(t, err)
		unlock(t, owned)
	})
}
