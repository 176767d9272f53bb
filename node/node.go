package node

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/target"
)

// Node is a master, for redlock.New. It belongs to at most one Locker, which closes it.
type Node struct{ target target.Target }

func init() { target.Register(func(n any) *target.Target { return &n.(*Node).target }) }

// Name returns the name given with [WithName], by default the master's address without user and password.
func (n *Node) Name() string { return n.target.Name }

// Open makes a node for the master at a URL: redis://[user:password@]host[:port][/db], rediss:// for TLS, or
// unix://[user:password@]/path/to/socket[?db=n]. A user must have a password, which may be empty (user:@); the default
// user may be left out (:password@). Open does not connect: the node connects on first use. The URL's password appears
// in no error and no log. The query parameter zone=NAME names the failure domain of the master, such as an availability
// zone, for package doctor.
func Open(rawURL string, opts ...Option) (*Node, error) {
	o, zone, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	s, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.applyTLS(o), s.applyCredentials(o)); err != nil {
		return nil, err
	}
	if err := checkUser(rawURL); err != nil {
		return nil, err
	}
	return &Node{target.Target{Name: cmp.Or(s.name, o.Addr), Zone: zone, Clock: s.clock, Server: o, Dial: s.dialer}}, nil
}

// Wrap makes a node that uses an existing client: one with a TLS configuration of its own, a Sentinel failover client,
// or the client of a Cluster that serves as one master. The node never closes the client. It uses the client's pool, or
// over a Cluster perhaps a client of its own.
//
// The node's requests are not repeated, whatever MaxRetries says: a client that repeats SET NX by itself takes its own
// key for another client's. They have a ReadTimeout, of 3 s if the client has none, and a WriteTimeout. Other users of
// the client do not notice. A Cluster's client cannot share its connections in this way: unless its MaxRedirects and
// MaxRetries are -1 and it has both timeouts, the node makes a client of its own with the same options, but without its
// hooks.
//
// The node cannot observe the connections of a wrapped client, so it asks for the server's identity with every batch.
// That costs two commands per batch, and over a Cluster a round trip. The node cannot close these connections either:
// Close of its Locker may take longer, by the client's own timeouts for a silent connection.
//
// After a second without a request the node sends a PING first, because the server may have closed the connection, and
// go-redis does not notice that under TLS. If the client has other users, a request may still get a connection that
// they left idle. Set ConnMaxIdleTime below the server's timeout in that case.
//
// go-redis trusts the replies of a server: it takes the memory that a length asks for, and panics at a type that it
// does not expect. The node turns a panic into a failed vote where it can. It cannot where go-redis reads in a
// goroutine of its own, as when it loads the slots of a Cluster or listens to a Sentinel. For the servers of a Cluster,
// Wrap adds a hook to the client.
//
// The options of the client must not have a Username without a Password: go-redis logs in as the default user then.
//
// A failover client has no address. The name of its node is "sentinel" without [node.WithName], or "cluster" if it is
// a Cluster's client.
func Wrap(client redis.UniversalClient, opts ...Option) (*Node, error) {
	s, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	if s.tls != nil {
		return nil, errors.New("redlock: Wrap takes no TLS configuration: set TLSConfig in the options of the client")
	}
	if s.credentials != nil {
		return nil, errors.New("redlock: Wrap takes no credentials: " +
			"set CredentialsProviderContext in the options of the client")
	}
	var label string
	var ignored bool // see ignoresUser
	switch c := client.(type) {
	case nil:
		return nil, errNoClient
	case *redis.Client:
		if c == nil {
			return nil, errNoClient
		}
		o := c.Options()
		if label = o.Addr; label == failoverAddr {
			label = "sentinel"
		}
		ignored = ignoresUser(o)
	case *redis.ClusterClient:
		if c == nil {
			return nil, errNoClient
		}
		o := c.Options()
		label = cmp.Or(strings.Join(o.Addrs, "+"), "cluster")
		ignored = ignoresUser(&redis.Options{
			Username: o.Username, Password: o.Password, CredentialsProvider: o.CredentialsProvider,
			CredentialsProviderContext:   o.CredentialsProviderContext,
			StreamingCredentialsProvider: o.StreamingCredentialsProvider,
		})
	default:
		return nil, fmt.Errorf("redlock: Wrap cannot use a %T: "+
			"give it a *redis.Client or a *redis.ClusterClient", client)
	}
	if ignored {
		return nil, fmt.Errorf("redlock: master %s: the options of the client have a Username without a Password: "+
			"go-redis would log in as the default user", cmp.Or(s.name, label))
	}
	return &Node{target.Target{Name: cmp.Or(s.name, label), Clock: s.clock, Server: client}}, nil
}

// failoverAddr is what go-redis returns as the address of every failover client.
const failoverAddr = "FailoverClient"

var errNoClient = errors.New("redlock: Wrap needs a client")

// ignoresUser reports whether go-redis would log in as the default user instead of the one that the options name: it
// authenticates only with a password.
func ignoresUser(o *redis.Options) bool {
	return o.Username != "" && o.Password == "" && o.CredentialsProvider == nil &&
		o.CredentialsProviderContext == nil && o.StreamingCredentialsProvider == nil
}
