package faults

import "context"

// OnClients returns the faults that clients can have.
func OnClients(c ClientControl) []Fault {
	doom := func(moment string) func(context.Context, int) error {
		return func(ctx context.Context, client int) error { return c.Doom(ctx, client, moment) }
	}
	// The moment may not have come yet.
	again := func(ctx context.Context, client int) error {
		if err := c.Kill(ctx, client); err != nil {
			return err
		}
		return c.Start(ctx, client)
	}
	canStop := c.CanFreeze()
	if canStop == nil {
		canStop = c.CanDoom()
	}
	return []Fault{
		made(KillClient, nil, c.Kill, c.Start),
		made(KillClientHolding, c.CanDoom(), doom(DieHolding), again),
		made(KillClientAcquiring, c.CanDoom(), doom(DieAcquiring), again),
		made(KillClientReleasing, c.CanDoom(), doom(DieReleasing), again),
		made(FreezeClient, c.CanFreeze(), c.Freeze, c.Thaw),
		made(FreezeClientHolding, canStop, doom(StopHolding), doom(Spared)),
		made(DriftClient, c.CanRunClocks(),
			func(ctx context.Context, client int) error { return c.RunClock(ctx, client, DriftOf(client)) },
			func(ctx context.Context, client int) error { return c.RunClock(ctx, client, 0) }),
	}
}
