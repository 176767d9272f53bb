package report

import (
	"strings"

	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/plot"
)

func styleOf(name string) plot.Style {
	switch {
	case name == peers.Redlock:
		return plot.Style{Class: "c0", Main: true}
	case name == peers.RedlockNoHandOver, name == peers.RedlockSingle:
		return plot.Style{Class: "c1"}
	case name == peers.Redsync:
		return plot.Style{Class: "c2"}
	case name == peers.RedsyncFailFast:
		return plot.Style{Class: "c3"}
	case name == peers.Redislock:
		return plot.Style{Class: "c4"}
	case name == peers.Rueidislock:
		return plot.Style{Class: "c5"}
	case name == peers.LowerBound:
		return plot.Style{Class: "c6", Dash: "5 4"}
	case strings.HasPrefix(name, peers.Redlock+"-"):
		return plot.Style{Class: "c1", Dash: "2 3"}
	case strings.HasPrefix(name, peers.Redsync+"-"):
		return plot.Style{Class: "c2", Dash: "2 3"}
	}
	return plot.Style{Class: "c6"}
}
