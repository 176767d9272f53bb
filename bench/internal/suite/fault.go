package suite

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/bench/internal/delay"
	"github.com/redlock-go/redlock/bench/internal/masters"
	"github.com/redlock-go/redlock/bench/internal/report"
)

// A fault hurts one master in the middle of a steady load.
type fault struct {
	report.Scenario
	inject func(ctx context.Context, v *faultTarget) error
	heal   func(ctx context.Context, v *faultTarget) error
}

// A faultTarget is the master that suffers the fault, and the proxy in front of it that can delay its traffic.
type faultTarget struct {
	host  masters.Host
	proxy *delay.Proxy
}

const slowTrip = 100 * time.Millisecond

func allFaults() []fault {
	frozen := func(d time.Duration) fault {
		return fault{
			Scenario: report.Scenario{Name: "frozen-" + d.String(), What: "frozen for " + d.String(), Lasts: d},
			inject:   func(ctx context.Context, v *faultTarget) error { return v.host.Freeze(ctx) },
			heal:     func(ctx context.Context, v *faultTarget) error { return v.host.Thaw(ctx) },
		}
	}
	return []fault{
		frozen(2 * time.Second),
		frozen(5 * time.Second),
		frozen(12 * time.Second),
		{
			Scenario: report.Scenario{Name: "slow", What: "100ms away for 3s", Lasts: 3 * time.Second},
			inject:   func(_ context.Context, v *faultTarget) error { v.proxy.Set(delay.Link{RTT: slowTrip}); return nil },
			heal:     func(_ context.Context, v *faultTarget) error { v.proxy.Set(delay.Link{}); return nil },
		},
		// This fault comes last, because a restarted master may not vote for a while.
		{
			Scenario: report.Scenario{Name: "killed", What: "killed, and 3s later back, empty", Lasts: 3 * time.Second},
			inject:   func(_ context.Context, v *faultTarget) error { return v.host.Kill() },
			heal:     func(ctx context.Context, v *faultTarget) error { return v.host.Start(ctx) },
		},
	}
}

func scenarioNames() (all []string) {
	for _, s := range allFaults() {
		all = append(all, s.Name)
	}
	return all
}

func pickFaults(list string) ([]fault, error) {
	return pickNamed("-scenarios", list, allFaults(), func(f fault) string { return f.Name })
}
