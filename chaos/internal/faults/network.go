package faults

import (
	"context"

	"github.com/redlock-go/redlock/chaos/internal/proxy"
)

// ofNetwork are the faults of the network in front of a master: those of the proxy, which every backend has, and those
// of the master's own network.
func ofNetwork(m MasterControl) []Fault {
	type put func(ctx context.Context, master int, c proxy.Condition) error
	bad := func(name string, available error, on put, c proxy.Condition) Fault {
		return made(name, available,
			func(ctx context.Context, master int) error { return on(ctx, master, c) },
			func(ctx context.Context, master int) error { return on(ctx, master, proxy.Fine) })
	}
	return []Fault{
		bad(SlowLink, nil, m.Network, proxy.Slow),
		bad(JitteryLink, nil, m.Network, proxy.Jittery),
		bad(TricklingLink, nil, m.Network, proxy.Trickling),
		bad(ResettingLink, nil, m.Network, proxy.Resetting),
		bad(CutLink, nil, m.Network, proxy.Cut),
		bad(SilentLink, nil, m.Network, proxy.Silent),
		bad(LostCommands, nil, m.Network, proxy.NoCommands),
		bad(LostAnswers, nil, m.Network, proxy.NoAnswers),
		bad(BlackHole, m.CanPackets(), m.Packets, proxy.Silent),
		bad(BlackHoleCommands, m.CanPackets(), m.Packets, proxy.NoCommands),
		bad(BlackHoleAnswers, m.CanPackets(), m.Packets, proxy.NoAnswers),
		bad(Unplug, m.CanPackets(), m.Packets, proxy.Cut),
	}
}
