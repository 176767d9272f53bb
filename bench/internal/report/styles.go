package report

import (
	"strings"

	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/plot"
)

// styleOf returns how a contestant is drawn. Contestants of one picture differ in color and in dashes.
func styleOf(name string) plot.Style {
	switch {
	case name == peers.Redlock:
		return plot.Style{Class: "c0", Main: true}
	case name == peers.RedlockNoHandOver, name == peers.RedlockSingle:
		return plot.Style{Class: "c1", Dash: "9 3"}
	case name == peers.Redsync:
		return plot.Style{Class: "c2"}
	case name == peers.RedsyncFailFast:
		return plot.Style{Class: "c3", Dash: "9 3 2 3"}
	case name == peers.Redislock:
		return plot.Style{Class: "c4", Dash: "5 3"}
	case name == peers.Rueidislock:
		return plot.Style{Class: "c5", Dash: "2 2"}
	case name == peers.LowerBound:
		return plot.Style{Class: "c6", Dash: "1 4"}
	case strings.HasPrefix(name, peers.Redlock+"-"):
		return plot.Style{Class: "c1", Dash: "2 3"}
	case strings.HasPrefix(name, peers.Redsync+"-"):
		return plot.Style{Class: "c2", Dash: "2 3"}
	}
	return plot.Style{Class: "c6"}
}
