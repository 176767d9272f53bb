package faults

import (
	"context"

	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// The faults of clients.
const (
	KillClient          = "kill-client"
	KillClientHolding   = "kill-client-holding"
	KillClientAcquiring = "kill-client-acquiring"
	KillClientReleasing = "kill-client-releasing"
	FreezeClient        = "freeze-client"
	FreezeClientHolding = "freeze-client-holding"
	DriftClient         = "drift-client"
)

var ofClients = []definition{
	onClients(KillClient, Traits{}, func(c ClientControl) Effect { return Effect{nil, c.Kill, c.Start} },
		"SIGKILL of a client process at any moment; a new one starts"),
	onClients(KillClientHolding, Traits{}, dieAt(traffic.Holding),
		"SIGKILL while it holds a lock"),
	onClients(KillClientAcquiring, Traits{}, dieAt(traffic.Acquiring),
		"SIGKILL while it asks for a lock"),
	onClients(KillClientReleasing, Traits{}, dieAt(traffic.Releasing),
		"SIGKILL while it gives a lock back"),
	onClients(FreezeClient, Traits{Outlasts: true},
		func(c ClientControl) Effect { return Effect{c.CanFreeze(), c.Freeze, c.Thaw} },
		"SIGSTOP for longer than a TTL; then it continues as if nothing had happened"),
	onClients(FreezeClientHolding, Traits{Outlasts: true}, freezeHolding,
		"SIGSTOP inside the critical section, for longer than a TTL"),
	onClients(DriftClient, Traits{Outlasts: true}, driftClient,
		"its clock gains 5 ms a second, or loses as much (every second client), half the drift budget; "+
			"after the fault it keeps what it gained"),
}

// dieAt has a client kill itself at a crash point, which it may not have reached when it is healed.
func dieAt(point string) func(ClientControl) Effect {
	return func(c ClientControl) Effect {
		return Effect{nil, crashAt(c, point), func(ctx context.Context, client int) error {
			if err := c.Kill(ctx, client); err != nil {
				return err
			}
			return c.Start(ctx, client)
		}}
	}
}

func crashAt(c ClientControl, point string) func(context.Context, int) error {
	return func(ctx context.Context, client int) error { return c.SetCrashPoint(ctx, client, point) }
}

func freezeHolding(c ClientControl) Effect {
	return Effect{c.CanFreeze(), crashAt(c, traffic.FrozenHolding), crashAt(c, traffic.NoCrashPoint)}
}

func driftClient(c ClientControl) Effect {
	return Effect{
		nil,
		func(ctx context.Context, client int) error { return c.RunClock(ctx, client, DriftOf(client)) },
		func(ctx context.Context, client int) error { return c.RunClock(ctx, client, 0) },
	}
}
