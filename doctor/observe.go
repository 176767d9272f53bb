package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/seam"
	"github.com/redlock-go/redlock/node"
)

var errCluster = errors.New("it is a Cluster that serves as one master, which is not examined: " +
	"examine its servers by their own URLs")

// observe examines one master for a little longer than the span.
func observe(ctx context.Context, n *node.Node, d seam.Deployment, span time.Duration) *master {
	m := &master{name: n.Name(), zone: n.Zone(), config: map[string]string{}}
	if n.Clustered() {
		m.failure = errCluster
		return m
	}
	o := &observer{ctx: ctx, conn: n.Connect(), clock: d.Clock, m: m}
	defer o.conn.Close()
	// INFO comes first, because commands that the server refuses later count in its statistics of errors.
	o.askInfo()
	o.m.remote = o.conn.Remote()
	for _, ask := range []func(){
		o.askConfig, o.askClient, o.askSentinel, o.askPauses, o.askKeys, func() { o.takeBursts(span) },
	} {
		if m.failure == nil {
			ask()
		}
	}
	if m.failure == nil {
		m.trial = runTrial(ctx, n, d.TTL)
	}
	return m
}

func (o *observer) askInfo() {
	reply, err := o.conn.Do(o.ctx, "info", "all")
	if node.IsReply(err) {
		reply, err = o.conn.Do(o.ctx, "info")
	}
	text, ok := reply.(string)
	switch {
	case err != nil:
		o.note("INFO", err)
	case !ok:
		o.m.failure = node.ErrNotRedis
	default:
		o.m.info = parseInfo(text)
	}
	if o.m.info == nil && o.m.failure == nil {
		o.m.info = map[string]string{} // the other questions may be allowed
	}
}

// parameters are those that the observer reads with CONFIG GET. Most servers report the first two in INFO, too.
var parameters = []string{
	"maxmemory", "maxmemory-policy", "appendfsync", "no-appendfsync-on-rewrite", "timeout", "tcp-keepalive",
	"client-output-buffer-limit", "disable-thp",
}

func (o *observer) askConfig() {
	for _, name := range parameters { // one by one: several in one command need Redis 7
		reply, err := o.conn.Do(o.ctx, "config", "get", name)
		if err != nil {
			o.note("CONFIG GET", err)
			return
		}
		if pair, ok := reply.([]any); ok && len(pair) == 2 {
			o.m.config[name] = fmt.Sprint(pair[1])
		}
	}
}

func (o *observer) askClient() {
	if reply, ok := o.ask("CLIENT", "INFO"); ok {
		text, _ := reply.(string)
		fields := parseFields(text, " ")
		o.m.local, _, _ = net.SplitHostPort(fields["laddr"])
		o.m.user = fields["user"]
	}
	if o.m.user != "" || o.m.failure != nil {
		return
	}
	if reply, ok := o.ask("ACL", "WHOAMI"); ok {
		o.m.user, _ = reply.(string)
	}
}

// askSentinel looks for the two kinds of connections that a Sentinel has to a server that it watches.
func (o *observer) askSentinel() {
	const channel = "__sentinel__:hello"
	if reply, err := o.conn.Do(o.ctx, "pubsub", "numsub", channel); err == nil {
		if pair, ok := reply.([]any); ok && len(pair) == 2 {
			n, _ := pair[1].(int64)
			o.m.sentinels = int(n)
			return
		}
	} else if !node.IsReply(err) {
		o.m.failure = err
		return
	}
	if reply, ok := o.ask("CLIENT", "LIST"); ok {
		text, _ := reply.(string)
		for line := range strings.Lines(text) {
			if strings.HasPrefix(parseFields(line, " ")["name"], "sentinel-") {
				o.m.sentinels++
			}
		}
	}
}

// slowLogEntries is how many entries of the SLOWLOG are read.
const slowLogEntries = 128

func (o *observer) askPauses() {
	if reply, ok := o.ask("LATENCY", "LATEST"); ok {
		events, _ := reply.([]any)
		for _, e := range events {
			if f, ok := e.([]any); ok && len(f) >= 4 {
				longest, _ := f[3].(int64)
				o.m.latency = append(o.m.latency, pause{fmt.Sprint(f[0]), time.Duration(longest) * time.Millisecond})
			}
		}
	}
	if o.m.failure != nil {
		return
	}
	if reply, ok := o.ask("SLOWLOG", "GET", slowLogEntries); ok {
		entries, _ := reply.([]any)
		for _, e := range entries {
			f, ok := e.([]any)
			if !ok || len(f) < 4 {
				continue
			}
			micros, _ := f[2].(int64)
			took := time.Duration(micros) * time.Microsecond
			if took > o.m.slowest.took {
				o.m.slowest = pause{commandName(f[3]), took}
			}
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
