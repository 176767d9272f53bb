package integration_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/redisbox"
)

// rights returns the command by which docs/masters.md makes a user for redlock, split into words.
func rights(t *testing.T) []any {
	t.Helper()
	text, err := os.ReadFile("../docs/masters.md")
	require.NoError(t, err)
	lines := regexp.MustCompile(`(?m)^\s*(ACL SETUSER redlock .*)$`).FindAllStringSubmatch(string(text), -1)
	require.Len(t, lines, 1, "lines with ACL SETUSER")
	var words []any
	for _, word := range strings.Fields(lines[0][1]) {
		words = append(words, word)
	}
	return words
}

// restricted makes a user of that name on every master, and returns their URLs with it.
func restricted(t *testing.T, masters []*redisbox.Master, user string, setuser ...any) []string {
	t.Helper()
	setuser = slices.Clone(setuser)
	setuser[2] = user
	urls := make([]string, len(masters))
	for i, m := range masters {
		ask(t, m, setuser...)
		t.Cleanup(func() { _, _ = m.Do(context.Background(), "ACL", "DELUSER", user) })
		urls[i] = "redis://" + user + ":secret@" + m.Addr()
	}
	return urls
}

// denied is how often the masters refused a user.
func denied(t *testing.T, masters []*redisbox.Master, user string) (n int) {
	t.Helper()
	for _, m := range masters {
		for _, entry := range ask(t, m, "ACL", "LOG", 1000).([]any) {
			if slices.Contains(entry.([]any), any(user)) {
				n++
			}
		}
	}
	return n
}

// live has a user take, keep, extend, heal, look at, hand over and release a lock, while another waits for it. It
// returns the first error.
func live(t *testing.T, urls []string, masters []*redisbox.Master, name string) error {
	t.Helper()
	var lockers [2]*redlock.Locker
	for i := range lockers {
		lockers[i] = openAt(t, urls)
	}
	ctx := within(t, patience)
	held, err := lockers[0].Lock(ctx, name)
	if err != nil {
		return err
	}
	next := make(chan error, 1)
	go func() { next <- lockers[1].Do(ctx, name, func(context.Context) error { return nil }) }()
	for _, m := range masters {
		ask(t, m, "SCRIPT", "FLUSH") // each script goes out as text, too
	}
	ask(t, masters[0], "DEL", name) // and is put back
	time.Sleep(ttl)                 // kept alive, and waited for
	_, inspected := lockers[0].Inspect(ctx, name)
	_, nodes := lockers[0].Nodes(ctx)
	err = errors.Join(held.Extend(ctx), lockers[0].Release(ctx, name, held.Token()))
	_ = held.Unlock(ctx) // it is lost
	return errors.Join(inspected, nodes, err, <-next, liveKinds(t, lockers, name+":kinds"))
}

// liveKinds goes through what the other kinds do beyond that. It returns the first error.
func liveKinds(t *testing.T, lockers [2]*redlock.Locker, name string) error {
	t.Helper()
	ctx := within(t, patience)
	writer, err := lockers[0].RW(name).Lock(ctx, redlock.WithFencing())
	if err != nil {
		return err
	}
	brief, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	_, err = lockers[1].RW(name).Lock(brief) // leaves its intent, and takes it back
	if !errors.Is(err, redlock.ErrHeld) {
		return err
	}
	errs := []error{writer.Unlock(ctx)}
	reader, err := lockers[1].RW(name).RLock(ctx, redlock.WithFencing())
	if err != nil {
		return err
	}
	_, inspected := lockers[1].Inspect(ctx, name)
	errs = append(errs, inspected, reader.Unlock(ctx))
	outer, err := lockers[0].Reentrant(name, "owner").Lock(ctx)
	if err != nil {
		return err
	}
	inner, err := lockers[1].Reentrant(name, "owner").Lock(ctx, redlock.WithFencing())
	if err != nil {
		return err
	}
	errs = append(errs, inner.Extend(ctx), inner.Unlock(ctx), outer.Unlock(ctx))
	all, err := lockers[0].LockAll(ctx, []string{name, name + ":too"}, redlock.WithFencing())
	if err != nil {
		return err
	}
	errs = append(errs, all.Extend(ctx), all.Unlock(ctx))
	for _, l := range lockers { // the second finds a slot among those that are taken
		permit, err := l.Semaphore(name+":permits", 2).Acquire(ctx)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		defer func() { _ = permit.Unlock(ctx) }()
		errs = append(errs, permit.Extend(ctx))
	}
	return errors.Join(errs...)
}

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	masters := masters(t)
	urls := restricted(t, masters, "enough", rights(t)...)
	require.NoError(t, live(t, urls, masters, "orders:42"))
	assert.Zero(t, denied(t, masters, "enough"), "commands that were refused")
}

// The controls of the test above: without a right, and outside the pattern, it would notice.
func TestFewerRightsAreNoticed(t *testing.T) {
	masters := masters(t)
	for _, word := range rights(t)[2:] {
		right, ok := strings.CutPrefix(word.(string), "+")
		if !ok || right == "hello" || right == "unsubscribe" || right == "ping" || right == "select" {
			continue // a courtesy, or for what this test does not do
		}
		t.Run("without "+right, func(t *testing.T) {
			t.Parallel()
			urls := restricted(t, masters, "no-"+right, append(rights(t), "-"+right)...)
			err := live(t, urls, masters, "orders:"+right)
			assert.NotZero(t, denied(t, masters, "no-"+right), "%v", err)
		})
	}
	t.Run("another name", func(t *testing.T) {
		t.Parallel()
		urls := restricted(t, masters, "elsewhere", rights(t)...)
		require.ErrorContains(t, live(t, urls, masters, "other"), "NOPERM")
	})
}

// The step that fails first without a right.
const (
	nothing   = ""
	toAcquire = "acquire"
	toKeep    = "keep"
	toRelease = "release"
)

// kindsByRight has the step that fails first without a right, by the kind of lock. Kinds that are not listed work. See
// docs/masters.md.
var kindsByRight = map[string]map[string]string{
	"set":     {"mutex": toAcquire},
	"del":     {"mutex": toRelease},
	"pttl":    {"reader": toAcquire, "writer": toAcquire, "reentrant": toAcquire},
	"type":    {"reader": toKeep, "writer": toKeep, "reentrant": toKeep, "semaphore": toKeep},
	"zscore":  {"reader": toKeep, "writer": toKeep, "reentrant": toKeep, "semaphore": toRelease},
	"pexpire": {"mutex": toKeep},
	"zadd":    {"reader": toAcquire, "writer": toAcquire, "reentrant": toAcquire, "semaphore": toAcquire},
}

// outcome acquires, keeps and releases a lock. It returns the first step that failed, and its error.
func outcome(ctx context.Context, acquire takes) (string, error) {
	lk, err := acquire(ctx)
	if err != nil {
		return toAcquire, err
	}
	select {
	case <-lk.Context().Done():
		err := lk.Err()
		_ = lk.Unlock(ctx)
		return toKeep, err
	case <-time.After(ttl + ttl/10): // an extension has been needed by then
	}
	if err := lk.Unlock(ctx); err != nil {
		return toRelease, err
	}
	return nothing, nil
}

func TestWhatEachKindCannotDoWithoutARight(t *testing.T) {
	masters := masters(t)
	for right, failing := range kindsByRight {
		t.Run("without "+right, func(t *testing.T) {
			t.Parallel()
			l := openAt(t, restricted(t, masters, "kinds-no-"+right, append(rights(t), "-"+right)...))
			name := "orders:kinds:" + right
			acquire := map[string]takes{"semaphore": l.Semaphore(name+":semaphore", 2).TryAcquire}
			for _, k := range kinds() {
				if !k.fenced() && k.name == k.is {
					acquire[k.name] = k.lock(l, name+":"+k.name)
				}
			}
			for kind, acquire := range acquire {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					failed, err := outcome(within(t, patience), acquire)
					assert.Equal(t, failing[kind], failed, "%v", err)
					if failed != nothing {
						require.Regexp(t, "NOPERM|can't run this command", err.Error())
					}
				})
			}
		})
	}
}
