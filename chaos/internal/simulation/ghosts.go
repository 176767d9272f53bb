package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
)

const (
	// ghostTTL is the TTL of the locks that are acquired while masters are frozen. The masters stay frozen for
	// ghostFreeze, long enough for a client to assume that its key has expired. Package scenarios does the same on real
	// masters.
	ghostTTL    = 4 * time.Second
	ghostFreeze = ghostTTL + time.Second
	ghostsEach  = 3
	refusals    = time.Second
)

// ghosts freezes a minority of the masters while every client acquires and releases locks, then one master more while
// every client is refused locks. After the thaw, late deliveries may leave ghosts, which must be gone soon.
func (r *run) ghosts() {
	frozen := rand.New(rand.NewPCG(r.schedule.Seed, 0x67)).Perm(r.schedule.Masters)[:r.schedule.Masters/2+1]
	r.note("fault", "ghosts: masters %v freeze, the last of them later", frozen)
	thaw := r.now() + ghostFreeze
	for _, m := range frozen[:len(frozen)-1] {
		r.world.Master(m).Freeze()
	}
	r.behind("ghost", r.schedule.Window+r.schedule.MaxTTL()+2*time.Second, true)
	time.Sleep(thaw - refusals - r.now())
	r.world.Master(frozen[len(frozen)-1]).Freeze()
	r.behind("refused", refusals, false)
	for _, m := range frozen {
		r.world.Master(m).Thaw()
	}
	r.note("fault", "all masters are thawed")
	r.residue("after the ghosts")
}

// behind has every client lock its own names. It reports a problem if a lock fails although held is true, or succeeds
// although held is false.
func (r *run) behind(what string, patience time.Duration, held bool) {
	var all sync.WaitGroup
	for i, l := range r.lockers {
		who := r.schedule.Clients[i].Name
		for n := range ghostsEach {
			all.Go(func() {
				name := fmt.Sprintf("%s:%s:%d", what, who, n)
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				lock, err := l.Lock(ctx, locker.Request{Mode: kinds.Mutex, Names: []string{name}, TTL: ghostTTL})
				switch {
				case held && err != nil:
					r.problem(check.ByLiveness, who, "cannot lock %q though only a minority is frozen: %v", name, err)
				case !held && err == nil:
					r.problem(check.ByExclusion, who, "has a lock of %q though a majority is frozen", name)
				}
				if lock != nil {
					_ = lock.Unlock(context.Background())
				}
			})
		}
	}
	all.Wait()
}
