package faults

import "context"

// OnClients returns the faults of clients.
func OnClients(c ClientControl) []Fault {
	crashAt := func(point string) func(context.Context, int) error {
		return func(ctx context.Context, client int) error { return c.SetCrashPoint(ctx, client, point) }
	}
	// The client may not have reached the crash point yet.
	restart := func(ctx context.Context, client int) error {
		if err := c.Kill(ctx, client); err != nil {
			return err
		}
		return c.Start(ctx, client)
	}
	canStop := c.CanFreeze()
	if canStop == nil {
		canStop = c.CanSetCrashPoint()
	}
	return []Fault{
		made(KillClient, nil, c.Kill, c.Start),
		made(KillClientHolding, c.CanSetCrashPoint(), crashAt(DieHolding), restart),
		made(KillClientAcquiring, c.CanSetCrashPoint(), crashAt(DieAcquiring), restart),
		made(KillClientReleasing, c.CanSetCrashPoint(), crashAt(DieReleasing), restart),
		made(FreezeClient, c.CanFreeze(), c.Freeze, c.Thaw),
		made(FreezeClientHolding, canStop, crashAt(FreezeHolding), crashAt(NoCrashPoint)),
		made(DriftClient, c.CanRunClocks(),
			func(ctx context.Context, client int) error { return c.RunClock(ctx, client, DriftOf(client)) },
			func(ctx context.Context, client int) error { return c.RunClock(ctx, client, 0) }),
	}
}
