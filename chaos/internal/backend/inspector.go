package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// inspectTimeout is how long a master may take over one question of the harness.
const inspectTimeout = 2 * time.Second

// InspectorName is what CLIENT LIST calls the connections of inspector, which are not the clients'.
const InspectorName = "chaos-inspector"

// maxFailedDials: go-redis stops dialling after as many failures in a row as its pool has places, and repeats the last
// error for up to a second. Inspector look at masters that are dead on purpose, and shall see at once that they are back.
const maxFailedDials = 10_000

// Inspector look at masters beside the clients under test, each through a connection of its own.
type Inspector []inspected

type inspected struct {
	*redis.Client
	prefix string // what alone is looked for, "" for everything; see NewInspectorFor
}

// Look opens inspector on the masters at urls. The caller closes them.
func NewInspector(urls []string) (Inspector, error) { return NewInspectorFor(urls, "") }

// NewInspectorFor opens inspector that see nothing of what others have on these masters: of the keys and channels, those that have the
// prefix in their names, and of the connections, those that are called by it.
func NewInspectorFor(urls []string, prefix string) (Inspector, error) {
	redis.SetLogger(silence{})
	inspector := make(Inspector, len(urls))
	for i, u := range urls {
		o, err := redis.ParseURL(u)
		if err != nil {
			return nil, errors.Join(err, inspector[:i].Close())
		}
		o.MaxRetries, o.DialerRetries, o.PoolSize = -1, 1, maxFailedDials
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = inspectTimeout, inspectTimeout, inspectTimeout
		o.ContextTimeoutEnabled, o.DisableIdentity, o.ClientName = true, true, InspectorName
		inspector[i] = inspected{redis.NewClient(o), prefix}
	}
	return inspector, nil
}

// silence: go-redis tells standard error of every dial that fails, and here they are meant to.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// Do sends the master a command, and returns the reply as go-redis decodes it.
func (e Inspector) Do(ctx context.Context, master int, args ...any) (any, error) {
	return e[master].Do(ctx, args...).Result()
}

// Ping returns nil if the master answers a command.
func (e Inspector) Ping(ctx context.Context, master int) error { return e[master].Ping(ctx).Err() }

// PingAll returns nil if all of them do.
func (e Inspector) PingAll(ctx context.Context) error {
	errs := make([]error, len(e))
	var all errgroup.Group
	for i := range e {
		all.Go(func() error {
			if err := e.Ping(ctx, i); err != nil {
				errs[i] = fmt.Errorf("master %d does not answer: %w", i, err)
			}
			return nil
		})
	}
	_ = all.Wait() // the errors are gathered one by one
	return errors.Join(errs...)
}

// Uptime returns how long the master says that it has been up, in whole seconds.
func (e Inspector) Uptime(ctx context.Context, master int) (time.Duration, error) {
	info, err := e.Info(ctx, master)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(info["uptime_in_seconds"])
	if err != nil {
		return 0, fmt.Errorf("INFO has no uptime_in_seconds: %w", err)
	}
	return time.Duration(n) * time.Second, nil
}

// Info returns what the master says of itself, field by field.
func (e Inspector) Info(ctx context.Context, master int) (map[string]string, error) {
	text, err := e[master].Info(ctx).Result()
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields, err
}

// Keys returns the keys of the master that are looked for, sorted by name. Keys that end while it looks are left out.
func (e Inspector) Keys(ctx context.Context, master int) ([]history.Key, error) {
	var keys []history.Key
	scan := e[master].Scan(ctx, 0, e[master].pattern(), 1000).Iterator()
	for scan.Next(ctx) {
		name := scan.Val()
		left, err := e[master].PTTL(ctx, name).Result()
		switch {
		case err != nil:
			return nil, err
		case left == -2: // gone
			continue
		}
		token, err := e[master].Get(ctx, name).Result()
		if err != nil && !errors.Is(err, redis.Nil) && !strings.HasPrefix(err.Error(), "WRONGTYPE") {
			return nil, err
		}
		keys = append(keys, history.Key{Name: name, Token: token, Left: left})
	}
	slices.SortFunc(keys, func(a, b history.Key) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(keys), scan.Err()
}

// pattern matches the names that are looked for: also those of keys and channels that a lock makes out of its own name.
func (e inspected) pattern() string {
	if e.prefix == "" {
		return "*"
	}
	return "*" + e.prefix + "*"
}

// counts reports whether a line of CLIENT LIST is about a connection that is looked for.
func (e inspected) counts(line string) bool {
	fields := strings.Fields(line)
	if e.prefix != "" {
		return slices.Contains(fields, "name="+e.prefix)
	}
	return len(fields) > 0 && !slices.Contains(fields, "name="+InspectorName) && !slices.Contains(fields, "flags=S")
}

// Sockets returns how many connections there are to the master beside inspector and replicas, and the channels that somebody
// subscribes to; of both, those that are looked for.
func (e Inspector) Sockets(ctx context.Context, master int) (connections int, channels []string, err error) {
	list, err := e[master].ClientList(ctx).Result()
	if err != nil {
		return 0, nil, err
	}
	for line := range strings.Lines(list) {
		if e[master].counts(line) {
			connections++
		}
	}
	channels, err = e[master].PubSubChannels(ctx, e[master].pattern()).Result()
	slices.Sort(channels)
	return connections, channels, err
}

// Watch writes down the keys or the sockets of every master ([history.Keys], [history.Sockets]), again and again, until it has
// looked at all of them once more after a moment of the log's clock.
func (e Inspector) Watch(ctx context.Context, log *history.Writer, what history.Kind, until time.Duration) error {
	const every = 250 * time.Millisecond
	for last := false; !last; {
		left := until - log.Clock().Now()
		last = left <= 0
		for m := range e {
			seen := history.Event{T: log.Clock().Now(), Kind: what, Master: m}
			var err error
			if what == history.Keys {
				seen.Held, err = e.Keys(ctx, m)
			} else {
				seen.Connections, seen.Channels, err = e.Sockets(ctx, m)
			}
			if err != nil {
				return fmt.Errorf("look at master %d: %w", m, err)
			}
			log.Write(seen)
		}
		select {
		case <-time.After(min(max(left, 0), every)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Close closes the connections.
func (e Inspector) Close() error {
	var errs []error
	for _, c := range e {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
