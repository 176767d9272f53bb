package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/replyerr"
	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/node"
)

// wrappedClient is a client that a user gave.
type wrappedClient struct {
	client  redis.UniversalClient
	single  *redis.Client        // the client, if it is that of one server
	cluster *redis.ClusterClient // the client, if it is that of a Cluster
	clock   clock.Clock
	known   identities  // of all links of the node
	hooks   *panicHooks // of a Cluster
}

func newWrapped(client redis.UniversalClient, clk clock.Clock) *wrappedClient {
	w := &wrappedClient{client: client, clock: clk}
	switch c := client.(type) {
	case *redis.Client:
		w.single = withoutRetries(c)
		w.client = w.single
	case *redis.ClusterClient:
		w.cluster, w.hooks = clusterWithoutRetries(c), &panicHooks{}
		w.cluster.OnNewNode(w.hooks.add)
		w.client = w.cluster
	}
	return w
}

// readTimeout bounds the wait for a silent connection of a client without a ReadTimeout.
const readTimeout = 3 * time.Second

// withoutRetries returns a client over the connections of c whose requests are not repeated and have both timeouts.
func withoutRetries(c *redis.Client) *redis.Client {
	o := c.Options()
	if o.MaxRetries == 0 && o.ReadTimeout > 0 && o.WriteTimeout > 0 { // the client turns -1 into 0
		return c
	}
	read, write := o.ReadTimeout, o.WriteTimeout
	if read <= 0 {
		read, write = readTimeout, readTimeout
	}
	if write <= 0 {
		write = read
	}
	c = c.WithTimeout(read)
	own := c.Options() // a copy, which nobody else has yet
	own.MaxRetries, own.WriteTimeout = 0, write
	return c
}

// clusterWithoutRetries returns c if it does not repeat requests and has both timeouts, and otherwise another client
// with connections of its own: go-redis cannot change the options of a Cluster's client.
func clusterWithoutRetries(c *redis.ClusterClient) *redis.ClusterClient {
	o := *c.Options()
	// The client turns -1 into 0, but not MaxRetries.
	if o.MaxRetries == -1 && o.MaxRedirects == 0 && o.ReadTimeout > 0 && o.WriteTimeout > 0 {
		return c
	}
	o.MaxRetries, o.MaxRedirects = -1, -1
	if o.ReadTimeout <= 0 {
		o.ReadTimeout = readTimeout
	}
	o.WriteTimeout = max(0, o.WriteTimeout) // 0: as long as the ReadTimeout
	return redis.NewClusterClient(&o)
}

// wrapped is a Link over the client of the caller. A pipeline of the client sends one batch and waits for its replies.
type wrapped struct {
	*wrappedClient

	out     []byte
	replies []Reply

	mu       sync.Mutex
	identity *Server
	opened   time.Time
	used     time.Time // when a batch was last sent
}

// open returns a Link over the client if the server answers.
func (w *wrappedClient) open(ctx context.Context) (Link, error) {
	identity, err := w.greet(ctx)
	if HungUp(err) {
		err = noAnswer(err)
	}
	if err != nil {
		return nil, connectError(ctx, err)
	}
	return &wrapped{wrappedClient: w, identity: identity, opened: w.clock.Now(), used: w.clock.Now()}, nil
}

// greet checks that a Redis server answers.
func (w *wrappedClient) greet(ctx context.Context) (s *Server, err error) {
	if w.cluster != nil {
		_ = w.forEachMaster(ctx, verifyShard) // the PING reports an error
		return w.greetOnce(ctx)
	}
	untilAlive(idlePipelines(w.single), func() Reply {
		s, err = w.greetOnce(ctx)
		return Reply{Result: resultOf(err), Err: err}
	})
	return s, err
}

func (w *wrappedClient) greetOnce(ctx context.Context) (_ *Server, err error) {
	defer recovered(&err)
	p := w.client.Pipeline()
	ping, info, replication := p.Ping(ctx), new(redis.StringCmd), new(redis.StringCmd)
	if w.single != nil { // a Cluster would ask any of its servers
		info, replication = p.Info(ctx, "server"), p.Info(ctx, "replication")
	}
	scripts := p.EvalSha(ctx, NoScript, nil)
	_, err = p.Exec(ctx)
	if ping.Val() != "PONG" { // not err: a proxy that ends the connection at EVALSHA has answered PING
		return nil, cmp.Or(ping.Err(), err, error(node.ErrNotRedis))
	}
	s := Server{Role: resp.ParseInfo(replication.Val())["role"]}
	if info.Val() != "" {
		s = w.known.learn(info.Val()+"\n"+replication.Val(), nil, w.clock.Now())
	}
	s.Scripts = rightOf(scripts.Err())
	return &s, nil
}

var _ Link = (*wrapped)(nil)

func (w *wrapped) Put(command []byte) { w.out = append(w.out, command...) }

func (w *wrapped) Flush() error {
	var cmds []redis.Cmder
	for _, args := range resp.Commands(w.out) {
		cmds = append(cmds, redis.NewCmd(context.Background(), args...))
	}
	w.out = w.out[:0]
	err := w.exec(cmds)
	w.noteUse()
	w.replies = w.replies[:0]
	for _, cmd := range cmds {
		r := classify(cmd.(*redis.Cmd), err)
		if replyerr.HasPrefix(r.Err, "READONLY") {
			w.known.readOnly(w.Server().RunID)
		}
		w.replies = append(w.replies, r)
	}
	return nil
}

func (w *wrapped) Receive() ([]Reply, error) { return w.replies, nil }
func (w *wrapped) Streams() bool             { return false }
func (w *wrapped) Change(*Server)            {} // exec learns it
func (w *wrapped) Replace()                  {}

func (w *wrapped) exec(cmds []redis.Cmder) error {
	if w.cluster != nil {
		err := execPipeline(w.client.Pipeline(), cmds)
		w.learn(w.clusterIdentity())
		return err
	}
	// INFO goes first over the same connection, so it identifies the process that executes the batch.
	info := redis.NewCmd(context.Background(), "info", "server")
	replication := redis.NewCmd(context.Background(), "info", "replication")
	err := execPipeline(w.client.Pipeline(), append([]redis.Cmder{info, replication}, cmds...))
	text, ierr := info.Text()
	role, _ := replication.Text()
	w.learn(text+"\n"+role, ierr)
	return err
}

// classify returns what became of cmd in an exec that returned execErr. It relies on these facts of go-redis v9.23:
// Exec returns an error reply to the handshake (WRONGPASS) but does not set it on the commands, which then look like
// successes without a value. The error that ends a connection is set on every command of the batch that has no error
// yet, even on those that were answered before. A reply that is cut off leaves a value together with its error. So a
// value counts only if there is no error.
func classify(cmd *redis.Cmd, execErr error) Reply {
	err := cmd.Err()
	switch {
	case err == nil && cmd.Val() != nil:
		return Reply{Value: cmd.Val()}
	case err == redis.Nil: //nolint:errorlint // go-redis does not wrap it
		return Reply{}
	case err == nil && execErr == nil:
		return Reply{Result: InDoubt, Err: errors.New("no reply")}
	case err == nil:
		return Reply{Result: NotSent, Err: execErr}
	default:
		return Reply{Result: resultOf(err), Err: err}
	}
}

// neverSent reports whether err says that the client had no connection to send anything over.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) ||
		errors.As(err, &op) && op.Op == "dial"
}

func (w *wrapped) learn(info string, err error) {
	identity := w.known.learn(info, err, w.clock.Now())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.identity = &identity
}

func (w *wrapped) Server() *Server {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.identity
}

func (w *wrapped) Close() {}

// clusterIdentity combines the identities of all masters of a Cluster into one: if one restarts, the Cluster has
// restarted.
func (w *wrappedClient) clusterIdentity() (string, error) {
	var mu sync.Mutex
	var ids []string
	role := ""
	youngest, silent := time.Duration(math.MaxInt64), false
	err := w.forEachMaster(context.Background(), func(ctx context.Context, shard *redis.Client) error {
		p := shard.Pipeline()
		info, replication := p.Info(ctx, "server"), p.Info(ctx, "replication")
		_, _ = p.Exec(ctx)
		if err := info.Err(); err != nil {
			return err
		}
		fields := resp.ParseInfo(info.Val() + "\n" + replication.Val())
		id := fields["run_id"]
		up, err := Uptime(fields)
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, id)
		silent = silent || id == "" || err != nil
		if role = cmp.Or(role, fields["role"]); role == roleMaster {
			role = cmp.Or(fields["role"], role) // of a server that is no master, if there is one
		}
		youngest = min(youngest, up)
		return nil
	})
	if err != nil || silent {
		return "", err
	}
	sort.Strings(ids)
	return fmt.Sprintf("run_id:%s\nuptime_in_seconds:%d\nrole:%s\n",
		strings.Join(ids, "+"), int64(youngest/time.Second), role), nil
}
