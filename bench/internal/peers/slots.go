package peers

import (
	"context"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/load"
)

// The names of the contestants of the slots part, apart from [RedlockNoHandOver]. No other Go library has a semaphore
// over a quorum of masters, so permits are compared with redlock's own mutexes.
const (
	FreePermits       = "semaphore-64"
	FreePermitsFenced = "semaphore-64+fencing"
	FreeMutexes       = "mutex+fencing-distinct"
	FewPermits        = "semaphore-8-nohandover"
)

// The numbers of slots of the semaphores.
const (
	ManySlots = 64
	FewSlots  = 8
)

// SlotContestants returns the contestants that callers use when there are more slots than callers, or when many callers
// contend for a few slots.
func SlotContestants(contended bool) []*Contestant {
	permits := func(name, setup string, slots int, opts ...redlock.Option) *Contestant {
		return &Contestant{Name: name, Masters: QuorumMasters, Setup: setup, Open: openPermits(slots, opts...)}
	}
	if contended {
		return []*Contestant{
			permits(FewPermits, "Semaphore(name, 8), WithoutHandOver", FewSlots, redlock.WithoutHandOver()),
			{
				Name: RedlockNoHandOver, Masters: QuorumMasters, Open: openNoHandOver,
				Setup: "Lock of one name, WithoutHandOver",
			},
		}
	}
	return []*Contestant{
		permits(FreePermits, "Semaphore(name, 64)", ManySlots),
		permits(FreePermitsFenced, "the same WithFencing", ManySlots, redlock.WithFencing()),
		{
			Name: FreeMutexes, Masters: QuorumMasters, Setup: "Lock, WithFencing, a name for each caller",
			Open: func(urls []string, o Options) (load.Pairer, error) { return openOurs(urls, o, redlock.WithFencing()) },
		},
	}
}

// permitPairer acquires permits of a semaphore.
type permitPairer struct {
	*redlockPairer
	slots int
}

func openPermits(slots int, opts ...redlock.Option) func([]string, Options) (load.Pairer, error) {
	return func(urls []string, o Options) (load.Pairer, error) {
		p, err := openOurs(urls, o, opts...)
		if err != nil {
			return nil, err
		}
		return &permitPairer{p.(*redlockPairer), slots}, nil
	}
}

func (p *permitPairer) Acquire(ctx context.Context, name string) (load.HeldLock, error) {
	permit, err := p.locker.Semaphore(name, p.slots).Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return permit, nil
}
