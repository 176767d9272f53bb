package link

import (
	"cmp"
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/target"
)

// Master makes the connections to one master. The contexts that its functions get must end with the node.
type Master struct {
	// Open makes a connection for requests: it checks that a Redis server answers, and identifies the server process. An
	// attempt may take as long as the last one suggests, or patience if that is longer. A client of a user has timeouts
	// of its own.
	Open func(ctx context.Context, patience time.Duration) (Link, error)
	// Reach makes a connection only to see which server it reaches. The caller must close it with done. nil: the client
	// of a user does not allow that.
	Reach func(ctx context.Context) (runID string, done func(), err error)
	// Subscribe makes a subscription to no channel yet.
	Subscribe func(ctx context.Context) (Subscription, error)
	// Connect returns a connection for single commands.
	Connect func(ctx context.Context) *Connection
	// Close closes what New made.
	Close func()

	// User is the user of the URL or of the client, "default" if there is none, or "" if it may be another one for each
	// connection.
	User string
	// Clustered is set if the master is a Cluster, so that the keys of one script must be in one of its slots.
	Clustered bool
}

// New returns the Master that a user described. It does not connect. Links and subscriptions that are not those of
// a wrapped client report to saw which servers they reached.
func New(of *target.Target, saw func(Observation)) *Master {
	options, ok := of.Server.(*redis.Options)
	if !ok {
		return newWrapped(of.Server.(redis.UniversalClient), of.Clock).master(of)
	}
	d := &dialer{options: options, dial: of.Dial, clock: of.Clock, saw: saw}
	m := &Master{Open: d.open, Reach: d.reach, Subscribe: d.subscribe, Connect: d.examine, Close: func() {}}
	if options.CredentialsProviderContext == nil {
		m.User = cmp.Or(options.Username, "default")
	}
	return m
}

// master returns the Master over the client that a user gave in of.
func (w *wrappedClient) master(of *target.Target) *Master {
	m := &Master{
		Open:      func(ctx context.Context, _ time.Duration) (Link, error) { return w.open(ctx) },
		Subscribe: w.subscribe, Connect: w.examine, Close: func() {}, Clustered: w.cluster != nil,
	}
	if of.Server != any(w.client) && w.cluster != nil {
		m.Close = func() { _ = w.cluster.Close() }
	}
	if w.single != nil && w.single.Options().CredentialsProviderContext == nil {
		m.User = cmp.Or(w.single.Options().Username, "default")
	}
	return m
}
