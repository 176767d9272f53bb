package redlock

import "github.com/redlock-go/redlock/internal/seam"

// Package doctor gets the settings of a Locker from package seam. No exported function returns them.
func init() {
	seam.RegisterDeployment(func(locker any) (seam.Deployment, error) { return locker.(*Locker).deployment() })
}

// deployment returns what package doctor needs to know.
func (l *Locker) deployment() (seam.Deployment, error) {
	if err := l.begin(); err != nil {
		return seam.Deployment{}, failed("examine", nil, err)
	}
	defer l.end()
	return seam.Deployment{
		Nodes: l.masters, Clock: l.cfg.clock, TTL: l.cfg.terms.TTL, NodeTimeout: l.cfg.timeout(), Drift: l.cfg.drift,
		Guard: l.cfg.guard, RestartWindow: l.cfg.window(), Closing: l.ending,
	}, nil
}
