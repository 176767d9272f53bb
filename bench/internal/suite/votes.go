package suite

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-go/redlock"
)

// A voter reports whether its masters may vote.
type voter interface {
	Nodes(ctx context.Context) ([]redlock.NodeStatus, error)
}

const (
	voteSlack   = 15 * time.Second // in addition to the restart window, for a busy machine
	votePollMin = 20 * time.Millisecond
	votePollMax = time.Second // so that the progress is updated
)

// awaitVotes waits until every master may vote. The masters have just been started, and the restart guard does not
// count the votes of a master whose uptime is shorter than the restart window.
func awaitVotes(ctx context.Context, v voter, window time.Duration, p *progress) error {
	ctx, cancel := context.WithTimeoutCause(ctx, window+voteSlack,
		fmt.Errorf("not every master may vote after %v", window+voteSlack))
	defer cancel()
	for {
		nodes, err := v.Nodes(ctx)
		var left time.Duration
		ready := len(nodes) > 0
		for _, n := range nodes {
			if !n.MayVote {
				ready, err = false, n.Err
				left = max(left, n.VoteIn)
			}
		}
		if ready {
			return nil
		}
		p.live("the masters have just started and may vote in %v (restart guard)", left.Round(100*time.Millisecond))
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(min(max(left, votePollMin), votePollMax)):
		}
	}
}
