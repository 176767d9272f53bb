package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/names"
	"github.com/redlock-go/redlock/internal/replyerr"
	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/internal/seam"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// errCluster is why a wrapped Cluster, which answers and votes, is not examined further.
var errCluster = errors.New("it is a Cluster that serves as one master")

// observe examines one master for a little longer than the span.
func observe(ctx context.Context, n *wire.Node, d seam.Deployment, span time.Duration) *master {
	m := &master{name: n.Name(), zone: n.Zone(), user: n.User(), config: map[string]string{}}
	began := d.Clock.Now()
	o := &observer{ctx: ctx, node: n, clock: d.Clock, m: m, span: span, began: began, end: began.Add(span)}
	if n.Clustered() {
		_, err := o.over(func(a *asker) error {
			_, err := a.conn.Do(a.ctx, "ping") // a master that refuses it does not vote
			return err
		})
		m.failure = cmp.Or(err, errCluster)
		return m
	}
	// INFO comes first, because commands that the server refuses later count in its statistics of errors.
	m.refused, m.failure = o.over(o.askInfo)
	if o.conn != nil {
		defer func() { o.conn.Close() }()
	}
	if m.failure != nil || m.sentinel() {
		return m
	}
	var g errgroup.Group
	g.Go(func() error { // each part has facts of its own
		m.failure = o.takeSamples()
		return nil
	})
	g.Go(func() error {
		o.connectAfresh()
		return nil
	})
	var questions, keys []refusal
	var failed [2]error
	if !m.develops() {
		questions, failed[0] = o.over(o.askQuestions)
		keys, failed[1] = o.over(o.askKeys)
	}
	m.trial = o.runTrial(d.TTL)
	_ = g.Wait()
	m.refused = slices.Concat(m.refused, questions, keys)
	if dismissal(m.trial.failure) {
		m.dismissed = m.trial.failure
	}
	for i, err := range failed {
		switch {
		case dismissal(err): // others were accepted
			m.dismissed = err
		case err != nil: // the samples show whether it answers at the end
			m.refused = append(m.refused, refusal{[]string{"the settings", "the keys"}[i], err})
		}
	}
	return m
}

// develops reports whether the master is one for development, whose settings say nothing about a deployment.
func (m *master) develops() bool { return m.info["server_name"] == names.DevServer }

func (m *master) sentinel() bool { return m.info["redis_mode"] == "sentinel" }

// askInfo asks for INFO and keeps the connection.
func (o *observer) askInfo(a *asker) error {
	reply, err := a.conn.Do(a.ctx, "info", "all")
	if replyerr.Is(err) {
		reply, err = a.conn.Do(a.ctx, "info")
	}
	o.m.remote = a.conn.Remote()
	if replyerr.Is(err) {
		// The other questions may be allowed, unless the reply was to the connection.
		if _, err2 := a.conn.Do(a.ctx, "time"); err2 != nil && (!replyerr.Is(err2) || err2.Error() == err.Error()) {
			return err
		}
		a.refused, o.m.info = append(a.refused, refusal{"INFO", err}), map[string]string{}
		o.conn, a.keep = a.conn, true
		return nil
	}
	if err != nil {
		return err
	}
	text, ok := reply.(string)
	if !ok {
		return node.ErrNotRedis
	}
	o.m.info = resp.ParseInfo(text)
	o.conn, a.keep = a.conn, true
	return nil
}

// parameters are those that the observer reads with CONFIG GET. Most servers report the first two in INFO, too.
var parameters = []string{
	"maxmemory", "maxmemory-policy", "appendfsync", "no-appendfsync-on-rewrite", "timeout", "tcp-keepalive",
	"client-output-buffer-limit", "disable-thp", "aclfile",
}

const (
	sentinelChannel = "__sentinel__:hello"
	slowLogEntries  = 128 // how many entries of the SLOWLOG are read
)

// askQuestions asks for settings and statistics. What a first command of a kind is refused is not asked again.
func (o *observer) askQuestions(a *asker) error {
	first, err := a.ask([]any{"CONFIG", "GET", parameters[0]}, []any{"CLIENT", "INFO"}, []any{"LATENCY", "LATEST"},
		[]any{"SLOWLOG", "GET", slowLogEntries})
	if err != nil {
		return err
	}
	o.readConfig(first[0])
	o.readClient(first[1])
	o.readPauses(first[2], first[3])
	numsub, err := a.conn.Do(a.ctx, "pubsub", "numsub", sentinelChannel)
	var more [][]any
	switch pair, ok := numsub.([]any); {
	case err != nil && !replyerr.Is(err):
		return err
	case ok && len(pair) == 2:
		n, _ := pair[1].(int64)
		o.m.sentinels = int(n)
	default:
		more = append(more, []any{"CLIENT", "LIST"})
	}
	if first[1].Err != nil {
		more = append(more, []any{"ACL", "WHOAMI"})
	}
	if first[0].Err == nil {
		for _, name := range parameters[1:] { // one by one: several in one command need Redis 7
			more = append(more, []any{"CONFIG", "GET", name})
		}
	}
	answers, err := a.ask(more...)
	if err != nil {
		return err
	}
	for i, answer := range answers {
		switch more[i][0] {
		case "CONFIG":
			o.readConfig(answer)
		case "ACL":
			if user, ok := answer.Reply.(string); ok {
				o.m.user = user
			}
		default:
			o.countSentinels(answer)
		}
	}
	return nil
}

func (o *observer) readConfig(answer link.Answer) {
	if pair, ok := answer.Reply.([]any); ok && len(pair) == 2 {
		o.m.config[fmt.Sprint(pair[0])] = fmt.Sprint(pair[1])
	}
}

func (o *observer) readClient(answer link.Answer) {
	text, _ := answer.Reply.(string)
	fields := parseFields(text, " ")
	if strings.HasPrefix(fields["laddr"], "/") { // a socket in this host's file system
		o.m.remote = cmp.Or(o.m.remote, "127.0.0.1")
		return
	}
	o.m.local, _, _ = net.SplitHostPort(fields["laddr"])
	o.m.user = cmp.Or(fields["user"], o.m.user)
}

// countSentinels counts the connections that a Sentinel has to a server that it watches.
func (o *observer) countSentinels(answer link.Answer) {
	text, _ := answer.Reply.(string)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(parseFields(line, " ")["name"], "sentinel-") {
			o.m.sentinels++
		}
	}
}

func (o *observer) readPauses(latest, slowLog link.Answer) {
	events, _ := latest.Reply.([]any)
	for _, e := range events {
		if f, ok := e.([]any); ok && len(f) >= 4 {
			longest, _ := f[3].(int64)
			o.m.latency = append(o.m.latency, pause{fmt.Sprint(f[0]), time.Duration(longest) * time.Millisecond})
		}
	}
	entries, _ := slowLog.Reply.([]any)
	for _, e := range entries {
		if f, ok := e.([]any); ok && len(f) >= 4 {
			micros, _ := f[2].(int64)
			o.m.slow = append(o.m.slow, pause{commandName(f[3]), microseconds(micros)})
		}
	}
}

// commandName returns the name of a command in the SLOWLOG. Its arguments may be secret.
func commandName(args any) string {
	if list, ok := args.([]any); ok && len(list) > 0 {
		return strings.ToUpper(fmt.Sprint(list[0]))
	}
	return "a command"
}
