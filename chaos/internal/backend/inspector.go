package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/repeat"
	"github.com/redlock-go/redlock/clock"
)

// inspectTimeout bounds one command of the harness. The first two repetitions of a lost SYN are within it.
const inspectTimeout = 5 * time.Second

// InspectorName is the name of an inspector's connections in CLIENT LIST, which distinguishes them from the clients'
// connections.
const InspectorName = "chaos-inspector"

// maxFailedDials is the pool size of an inspector's clients. After as many failed dials in a row as the pool has
// places, go-redis stops dialing for up to a second. An inspector queries masters that are dead on purpose, and must
// see at once that they are back.
const maxFailedDials = 10_000

// An Inspector queries the masters for the harness, each through a connection of its own.
type Inspector []inspected

type inspected struct {
	*redis.Client
	prefix string // what alone is looked for, "" for everything; see NewInspector
}

// NewInspector returns an inspector of the masters at urls, which the caller must close. With a prefix it sees only the
// keys and channels that have the prefix in their names, and the connections that are called by it.
func NewInspector(urls []string, prefix string) (Inspector, error) {
	logging.Disable() // it reports every failed dial: here dials fail on purpose
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

// Do sends a command to the master, and returns the decoded reply.
func (e Inspector) Do(ctx context.Context, master int, args ...any) (any, error) {
	return e[master].Do(ctx, args...).Result()
}

// Ping returns nil if the master answers a command.
func (e Inspector) Ping(ctx context.Context, master int) error { return e[master].Ping(ctx).Err() }

// PingAll returns nil if all masters answer a command.
func (e Inspector) PingAll(ctx context.Context) error {
	return repeat.AtOnce(len(e), func(i int) error {
		if err := e.Ping(ctx, i); err != nil {
			return fmt.Errorf("master %d does not answer: %w", i, err)
		}
		return nil
	})
}

// Keys returns the keys of the master, sorted by name. It leaves out keys that expire during the call.
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

// pattern returns the glob pattern of the names to inspect. A lock derives the names of some keys and channels from its
// own name, so the prefix may stand anywhere in a name.
func (e inspected) pattern() string {
	if e.prefix == "" {
		return "*"
	}
	return "*" + e.prefix + "*"
}

// counts reports whether a line of CLIENT LIST describes a connection to count.
func (e inspected) counts(line string) bool {
	fields := strings.Fields(line)
	if e.prefix != "" {
		return slices.Contains(fields, "name="+e.prefix)
	}
	return len(fields) > 0 && !slices.Contains(fields, "name="+InspectorName) && !slices.Contains(fields, "flags=S")
}

// Sockets returns the number of connections to the master, without inspectors and replicas, and the subscribed
// channels.
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

// Watch writes the keys or the sockets of every master ([history.Keys], [history.Sockets]) to the log, again and again.
// It returns after the first round that begins after until, a time of the log's clock.
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
		if err := clock.Sleep(ctx, clock.System, min(left, every)); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the connections.
func (e Inspector) Close() error {
	return repeat.AtOnce(len(e), func(i int) error { return e[i].Close() })
}
