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
	tls    *tls.Config // a copy; nil: the URL decides
	err    error       // of an invalid option

	credentials credentials // nil: those of the URL
}

// WithClock sets the clock. The default is the system's. It is for tests.
func WithClock(c clock.Clock) Option { return func(s *settings) { s.clock = c } }

// WithDialer sets the dialer, for a master behind a tunnel or a proxy. The default is a [net.Dialer] with a KeepAlive
// of 15 s. If the URL asks for TLS, the node uses TLS over the connection that the dialer returns.
//
// The node checks a connection that was idle for a second before it uses the connection again, since the server may
// have closed it. The check of a socket (a syscall.Conn) costs nothing. On any other connection the node sends a PING
// first, which costs a round trip. A connection need not support deadlines, but its Close must end a blocked Read and
// Write.
func WithDialer(d Dialer) Option { return func(s *settings) { s.dialer = d } }

// WithName sets the name of the master in errors, traces and logs. The default is its address. The masters of one
// Locker must have different names.
func WithName(name string) Option { return func(s *settings) { s.name = name } }

// WithTLSConfig sets the TLS configuration of a master whose URL begins with rediss://: certificate authorities, a
// client certificate, a server name. The default is that of the URL, with the system's certificate authorities. The
// node uses a copy, takes an empty ServerName from the URL, and keeps a skip_verify in the URL. A nil configuration is
// an error. So is the option for a master without TLS (redis://, unix://), and for [Wrap], whose client has a
// configuration of its own.
func WithTLSConfig(c *tls.Config) Option {
	c = c.Clone() // Clone of nil is nil
	return func(s *settings) {
		if c == nil {
			s.err = errors.New("redlock: a nil TLS configuration: " +
				"leave WithTLSConfig out to use the system's certificate authorities")
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
	s.clock = clock.CountSuspensions(s.clock)
	return s, nil
}

var systemDialer = &net.Dialer{KeepAlive: 15 * time.Second}

// dialDefault connects over the network. An address of package memnet belongs to a master within this process, started
// by redlocktest.StartVirtual.
func dialDefault(ctx context.Context, network, addr string) (net.Conn, error) {
	if dial := memnet.Find(addr); dial != nil {
		return dial(ctx, network, addr)
	}
	return systemDialer.DialContext(ctx, network, addr)
}

// applyTLS replaces the TLS configuration of the URL by that of the settings, if there is one.
func (s *settings) applyTLS(o *redis.Options) error {
	switch {
	case s.tls == nil:
		return nil
	case o.TLSConfig == nil:
		return fmt.Errorf("redlock: master %s: a TLS configuration for a URL without TLS: "+
			"use rediss://, or leave WithTLSConfig out", o.Addr)
	}
	s.tls.ServerName = cmp.Or(s.tls.ServerName, o.TLSConfig.ServerName)
	s.tls.InsecureSkipVerify = s.tls.InsecureSkipVerify || o.TLSConfig.InsecureSkipVerify
	o.TLSConfig = s.tls
	return nil
}
