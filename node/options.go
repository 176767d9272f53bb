package node

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/memnet"
)

// A Dialer opens a network connection, as (*net.Dialer).DialContext does.
type Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// An Option configures a [Node].
type Option func(*settings)

type settings struct {
	clock  clock.Clock
	dialer Dialer
	name   string
	tls    *tls.Config // a copy; nil: what the URL says
	err    error       // of the first option that cannot be used
}

// WithClock replaces the system's clock. It is for tests.
func WithClock(c clock.Clock) Option { return func(s *settings) { s.clock = c } }

// WithDialer replaces the dialer, for a master behind a tunnel or a proxy. TLS, where the URL asks for it, is spoken
// over the connection it returns.
//
// A connection that has been idle for a second is checked before it is used again, since the server may have closed it
// meanwhile. Where the system can look into its socket (it is a syscall.Conn) the check costs nothing. Any other
// connection is sent a PING first, which costs a round trip. A connection need not support deadlines, but its Close must
// end a Read and a Write that block.
func WithDialer(d Dialer) Option { return func(s *settings) { s.dialer = d } }

// WithName names the master in errors, traces and logs, in place of its address. Two masters of one locker must not have
// the same name.
func WithName(name string) Option { return func(s *settings) { s.name = name } }

// WithTLSConfig sets the TLS configuration of a master whose URL begins with rediss://: certificate authorities, a
// client certificate, a server name. The configuration is copied. An empty ServerName is filled in from the URL; a
// skip_verify in the URL is kept. A nil configuration is an error, and so is the option for a master without TLS
// (redis://, unix://) and for a client given to [Wrap], which has a configuration of its own.
func WithTLSConfig(c *tls.Config) Option {
	c = c.Clone() // nil stays nil
	return func(s *settings) {
		if c == nil {
			s.err = errors.New("redlock: a nil TLS configuration: leave WithTLSConfig out to use the system's certificate authorities")
			return
		}
		s.tls = c.Clone() // an option may be used for several masters
	}
}

func newSettings(opts []Option) (settings, error) {
	s := settings{clock: clock.System, dialer: dialDefault}
	for _, o := range opts {
		if o == nil {
			return s, errors.New("redlock: a nil node.Option")
		}
		o(&s)
	}
	if s.err != nil {
		return s, s.err
	}
	if s.clock == nil || s.dialer == nil {
		return s, errors.New("redlock: a nil clock or dialer: leave the option out to use the system's")
	}
	return s, nil
}

var systemDialer = &net.Dialer{KeepAlive: 15 * time.Second}

// dialDefault connects over the network. Addresses that package memnet has given out belong to masters within this
// process, which redlocktest.StartVirtual runs.
func dialDefault(ctx context.Context, network, addr string) (net.Conn, error) {
	if dial := memnet.Find(addr); dial != nil {
		return dial(ctx, network, addr)
	}
	return systemDialer.DialContext(ctx, network, addr)
}

// secure puts the TLS configuration of the settings in place of that of the URL.
func (s *settings) secure(o *redis.Options) error {
	switch {
	case s.tls == nil:
		return nil
	case o.TLSConfig == nil:
		return fmt.Errorf("redlock: master %s: a TLS configuration for a URL without TLS: use rediss://, or leave WithTLSConfig out", o.Addr)
	}
	s.tls.ServerName = cmp.Or(s.tls.ServerName, o.TLSConfig.ServerName)
	s.tls.InsecureSkipVerify = s.tls.InsecureSkipVerify || o.TLSConfig.InsecureSkipVerify
	o.TLSConfig = s.tls
	return nil
}
