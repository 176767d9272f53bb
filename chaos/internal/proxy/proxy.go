// Package proxy puts a TCP proxy in front of a master, to harm the network between them. It runs toxiproxy in this
// process.
package proxy

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/internal/freeport"
)

// A Proxy forwards connections to one upstream address. It keeps its own address until [Proxy.Close], also while it is
// cut. Its methods may be called concurrently.
//
// Toxiproxy leaks a goroutine (some 14 kB) for each connection that was closed while it delayed bytes of it. The
// connection itself is closed.
type Proxy struct {
	upstream string
	port     *freeport.Port

	mu        sync.Mutex
	server    *toxiproxy.ApiServer
	proxy     *toxiproxy.Proxy // nil when closed
	condition faults.Condition
	broken    error         // the proxy cannot be used; nil: it can
	stuck     bool          // toxiproxy does not come back
	patience  time.Duration // for a change
}

// changeTimeout is how long toxiproxy may take to change what happens on its connections: seconds on a busy machine.
const changeTimeout = 20 * time.Second

// New starts a proxy on a loopback port, in condition [faults.Fine]. The caller must close it.
func New(upstream string) (*Proxy, error) {
	p := &Proxy{
		upstream: upstream, condition: faults.Fine, patience: changeTimeout,
		server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()),
	}
	var err error
	if p.port, err = freeport.Reserve(); err != nil {
		return nil, err
	}
	if p.proxy, err = p.begin(); err != nil {
		p.port.Release()
		return nil, err
	}
	return p, nil
}

// Addr returns the proxy's host:port.
func (p *Proxy) Addr() string { return p.port.Addr() }

// Set sets the condition of the network, for existing and for new connections.
//
// When a condition other than [faults.Fine] ends, the connections are closed. If a connection had lost bytes, a client
// would take later bytes for the answer to another command. If it had delayed bytes, toxiproxy would wait forever for a
// connection that is closed while its condition changes.
//
// After an error the proxy cannot be used, and must be closed.
func (p *Proxy) Set(c faults.Condition) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.proxy == nil {
		return fmt.Errorf("proxy of %s: it is closed", p.upstream)
	}
	if c == p.condition || p.broken != nil {
		return p.broken
	}
	type changed struct {
		proxy *toxiproxy.Proxy
		err   error
	}
	done := make(chan changed, 1)
	go func(proxy *toxiproxy.Proxy, from faults.Condition) {
		proxy, err := p.change(proxy, from, c)
		done <- changed{proxy, err}
	}(p.proxy, p.condition)
	select {
	case now := <-done:
		p.proxy, p.condition, p.broken = now.proxy, c, now.err
	case <-time.After(p.patience):
		p.stuck = true
		p.broken = fmt.Errorf("proxy of %s: toxiproxy has not got from %q to %q within %v: play the scenario again",
			p.upstream, p.condition, c, p.patience)
	}
	return p.broken
}

// change changes the condition of a proxy, and returns the proxy or its replacement.
func (p *Proxy) change(proxy *toxiproxy.Proxy, from, to faults.Condition) (*toxiproxy.Proxy, error) {
	if to == faults.Cut {
		proxy.Stop()
		return proxy, nil
	}
	if from != faults.Fine {
		proxy.Stop()
		next, err := p.begin()
		if err != nil {
			return proxy, err
		}
		proxy = next
	}
	for _, t := range toxics[to] {
		if _, err := proxy.Toxics.AddToxicJson(strings.NewReader(t)); err != nil {
			return proxy, fmt.Errorf("proxy of %s: %s: %w", p.upstream, t, err)
		}
	}
	return proxy, nil
}

// begin starts a proxy. If it replaces a stopped one, it takes no toxics over.
func (p *Proxy) begin() (*toxiproxy.Proxy, error) {
	var next *toxiproxy.Proxy
	err := freeport.WhenFree(func() error {
		next = toxiproxy.NewProxy(p.server, p.Addr(), p.Addr(), p.upstream)
		return next.Start()
	})
	if err != nil {
		return nil, fmt.Errorf("proxy of %s: %w", p.upstream, err)
	}
	return next, nil
}

// Close breaks all connections and stops listening. A second Close does nothing.
func (p *Proxy) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.proxy == nil {
		return nil
	}
	if !p.stuck {
		p.proxy.Stop()
	} else {
		go p.proxy.Stop() // it closes the listener; the connections end with the process
	}
	p.proxy = nil
	p.port.Release()
	return nil
}

// toxics lists the toxics of each condition, as toxiproxy reads them. A condition that is not listed has none. Upstream
// is from the clients to the master.
var toxics = map[faults.Condition][]string{
	faults.Slow: {`{"type": "latency", "stream": "downstream", "attributes": {"latency": 300}}`},
	faults.Jittery: {
		`{"type": "latency", "stream": "upstream", "attributes": {"latency": 75, "jitter": 75}}`,
		`{"type": "latency", "stream": "downstream", "attributes": {"latency": 75, "jitter": 75}}`,
	},
	faults.Trickling: {
		`{"type": "slicer", "stream": "upstream", "attributes": {"average_size": 16, "size_variation": 8, "delay": 2000}}`,
		`{"type": "slicer", "stream": "downstream", "attributes": {"average_size": 4, "size_variation": 2, "delay": 5000}}`,
	},
	faults.Resetting:  {`{"type": "reset_peer", "stream": "upstream", "attributes": {"timeout": 0}}`},
	faults.Silent:     {noCommands, noAnswers},
	faults.NoCommands: {noCommands},
	faults.NoAnswers:  {noAnswers},
}

// All bytes are dropped.
const (
	noCommands = `{"type": "timeout", "stream": "upstream", "attributes": {"timeout": 0}}`
	noAnswers  = `{"type": "timeout", "stream": "downstream", "attributes": {"timeout": 0}}`
)
