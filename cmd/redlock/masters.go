package main

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlock-go/redlock"
)

const (
	embeddedCount = 5
	maxTTL        = "max-ttl"
)

// masters has the flags that select the masters, and the options for requests to them.
type masters struct {
	urls     []string
	embedded bool
	ttl      time.Duration

	nodeTimeout  time.Duration
	maxTTL       time.Duration
	withoutGuard bool
}

func (m *masters) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&m.urls, "masters", nil,
		"`URLs` of the masters, separated by commas: redis://, rediss:// or unix://; one, or an odd number of at least "+
			"three; other users of this machine see them, so put passwords into a file or the variable [$"+mastersEnv+"]")
	settingFlag(cmd, mastersFile, "`file` with the URLs of the masters, separated by commas or white space; "+
		"a # at the beginning of a line or after white space begins a comment")
	tlsFlags(cmd)
	f.BoolVar(&m.embedded, "embedded", false,
		fmt.Sprintf("start %d masters in this process instead, to try things out: no other process sees their locks",
			embeddedCount))
	f.DurationVar(&m.ttl, "ttl", 10*time.Second,
		"how long the lock outlives a holder that died; while it lives, it extends the lock every third of this; "+
			"a shorter --max-ttl lowers the default")
	f.DurationVar(&m.nodeTimeout, "node-timeout", 0,
		"how long one master may take to answer (default: a twentieth of the TTL, 50ms to 500ms)")
	f.DurationVar(&m.maxTTL, maxTTL, 0,
		"the longest TTL or minimum hold of any client of these masters; a restarted master does not vote for that long "+
			"(default: the TTL, or the minimum hold if that is longer) [$"+variable(maxTTL)+"]")
	f.BoolVar(&m.withoutGuard, "without-restart-guard", false,
		"count votes of masters that just restarted: only for masters that persist every write, or refuse INFO")
}

// check lowers the default of the TTL to --max-ttl. It returns an error that names the flag if a flag is invalid. The
// library finds the other errors, such as a TTL that is too short for the node timeout.
func (m *masters) check(cmd *cobra.Command) error {
	limited, chosen := cmd.Flags().Changed(maxTTL), cmd.Flags().Changed("ttl")
	switch {
	case m.ttl < time.Millisecond:
		return usage("--ttl %v: it must be at least 1ms", m.ttl)
	case cmd.Flags().Changed("node-timeout") && m.nodeTimeout <= 0:
		return usage("--node-timeout %v: it must be above 0", m.nodeTimeout)
	case limited && m.maxTTL <= 0:
		return usage("--max-ttl %v: it must be above 0; --without-restart-guard switches the guard off", m.maxTTL)
	case limited && !chosen:
		m.ttl = min(m.ttl, m.maxTTL)
	case limited && !m.withoutGuard && m.ttl > m.maxTTL:
		return usage("--ttl %v is above --max-ttl %v: set --max-ttl to %v in every client of these masters",
			m.ttl, m.maxTTL, m.ttl)
	}
	return nil
}

// options returns the options for the flags that were given to cmd.
func (m *masters) options(cmd *cobra.Command) []redlock.Option {
	opts := []redlock.Option{redlock.WithTTL(m.ttl)}
	if cmd.Flags().Changed("node-timeout") {
		opts = append(opts, redlock.WithNodeTimeout(m.nodeTimeout))
	}
	if cmd.Flags().Changed(maxTTL) {
		opts = append(opts, redlock.WithMaxTTL(m.maxTTL))
	}
	if m.withoutGuard {
		opts = append(opts, redlock.WithoutRestartGuard())
	}
	return opts
}

// open returns a Locker over the masters that the flags or the environment name, and a function that closes it. Every
// error is a usage error: nothing has been sent yet.
func (m *masters) open(cmd *cobra.Command, opts ...redlock.Option) (*redlock.Locker, func(), error) {
	if err := fromEnvironment(cmd, maxTTL); err != nil {
		return nil, nil, err
	}
	if err := m.check(cmd); err != nil {
		return nil, nil, err
	}
	urls, stop, err := m.findURLs(cmd)
	if err != nil {
		return nil, nil, err
	}
	if !m.embedded {
		config, err := tlsConfig(cmd, urls)
		if err != nil {
			return nil, nil, err
		}
		if config != nil {
			opts = append(opts, redlock.WithTLSConfig(config))
		}
	}
	quiet := redlock.WithLogger(slog.New(slog.DiscardHandler))
	locker, err := redlock.Open(urls, slices.Concat([]redlock.Option{quiet}, m.options(cmd), opts)...)
	if err != nil {
		stop()
		return nil, nil, &exit{exitUsage, err}
	}
	return locker, func() {
		_ = locker.Close() // unconfirmed keys expire with their TTL; Unlock has reported them
		stop()
	}, nil
}
