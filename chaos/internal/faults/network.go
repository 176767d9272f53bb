package faults

import (
	"context"
)

// The faults of the network in front of a master: those of the proxy, which every backend has, and those of the
// master's own network.
const (
	SlowLink          = "slow-link"
	JitteryLink       = "jittery-link"
	TricklingLink     = "trickling-link"
	ResettingLink     = "resetting-link"
	CutLink           = "cut-link"
	SilentLink        = "silent-link"
	LostCommands      = "lost-commands"
	LostAnswers       = "lost-answers"
	BlackHole         = "black-hole"
	BlackHoleCommands = "black-hole-commands"
	BlackHoleAnswers  = "black-hole-answers"
	Unplug            = "unplug"
)

var ofNetwork = []definition{
	onMasters(SlowLink, Traits{Mute: true}, network(Slow),
		"answers come 300 ms late; commands take effect at once"),
	onMasters(JitteryLink, Traits{Mute: true}, network(Jittery),
		"commands and answers take 0 to 150 ms each"),
	onMasters(TricklingLink, Traits{Mute: true}, network(Trickling),
		"a few bytes at a time, milliseconds apart"),
	onMasters(ResettingLink, Traits{Mute: true}, network(Resetting),
		"connections are accepted, and reset at their first command"),
	onMasters(CutLink, Traits{Mute: true}, network(Cut),
		"connections break, new ones are refused; the master lives on with its data"),
	onMasters(SilentLink, Traits{Mute: true}, network(Silent),
		"silence both ways; what was sent is lost; after the fault, connections break"),
	onMasters(LostCommands, Traits{Mute: true}, network(NoCommands),
		"no command arrives; after the fault, connections break"),
	onMasters(LostAnswers, Traits{Mute: true}, network(NoAnswers),
		"commands take effect and no answer comes; after the fault, connections break"),
	onMasters(BlackHole, Traits{Mute: true, Late: true}, packets(Silent),
		"packets dropped both ways in the container's network; connections live on, and what was sent arrives late"),
	onMasters(BlackHoleCommands, Traits{Mute: true, Late: true}, packets(NoCommands),
		"packets to the master dropped; connections live on"),
	onMasters(BlackHoleAnswers, Traits{Mute: true, Late: true}, packets(NoAnswers),
		"packets from the master dropped: on open connections commands take effect, answers come late"),
	onMasters(Unplug, Traits{Mute: true, Late: true}, packets(Cut),
		"the container is off its network: no way to it; it lives on with its data"),
}

func network(c Condition) func(MasterControl) Effect {
	return func(m MasterControl) Effect { return condition(nil, m.Network, c) }
}

func packets(c Condition) func(MasterControl) Effect {
	return func(m MasterControl) Effect { return condition(m.CanPackets(), m.Packets, c) }
}

func condition(available error, put func(context.Context, int, Condition) error, c Condition) Effect {
	return Effect{
		available,
		func(ctx context.Context, master int) error { return put(ctx, master, c) },
		func(ctx context.Context, master int) error { return put(ctx, master, Fine) },
	}
}
