package seam

import (
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/wire"
)

// Deployment is what package doctor needs to know about a Locker.
type Deployment struct {
	Nodes         []*wire.Node
	Clock         clock.Clock
	TTL           time.Duration
	NodeTimeout   time.Duration
	Drift         clock.Drift
	Guard         bool          // the restart guard is on
	RestartWindow time.Duration // 0 without the guard
	Closing       <-chan struct{}
}

var deployment func(locker any) (Deployment, error)

// RegisterDeployment sets the function that DeploymentOf calls. Package redlock calls it.
func RegisterDeployment(of func(locker any) (Deployment, error)) { deployment = of }

// DeploymentOf returns the deployment of a *redlock.Locker, or redlock.ErrClosed.
func DeploymentOf(locker any) (Deployment, error) { return deployment(locker) }
