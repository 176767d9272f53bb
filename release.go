package redlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/names"
	"github.com/redlock-go/redlock/quorum"
)

// Release deletes the lock on name on every master where its token is the given one, and publishes the release. It is
// for operators, and for a process that got the token from the holder. It does not claim the lock, and needs neither
// its kind nor its options.
//
// The lock may be of any kind: a mutex, also of another client, a reader's lock, a writer's, one hold of a reentrant
// owner, or a permit of a semaphore. Of a LockAll, Release deletes one name. The token that begins with "min-hold:"
// ends a minimum hold. All other holders of the name keep it. See [Lock.Token], and [Holder.Token] of [Locker.Inspect].
//
// Like [Lock.Unlock], Release repeats the request to a master that does not answer. It returns:
//
//   - nil if a majority of the masters answered, and no majority lacked the token.
//   - [ErrLost] if a majority does not have the token. The other masters have deleted it.
//   - [ErrNoQuorum] if too few masters answered within the node timeout; a master that is not connected has the
//     additional time of [WithNodeTimeout]. The release continues in the background, until the Locker is closed.
//   - ctx's error if ctx ends first. The release then continues, too.
//   - [ErrClosed] if the Locker is closed first.
//
// A holder that still runs has lost the lock. Its [Lock] notices that like any other loss: when it next extends the
// lock, or at Unlock. The extension that finds the loss also restores the token, so the name becomes free at the
// holder's Unlock, or at [Lock.Until] at the latest. End the holder first: until it notices the loss, it works without
// the lock.
func (l *Locker) Release(ctx context.Context, name, token string) error {
	return during("release", []string{name}, l.release(ctx, name, token))
}

func (l *Locker) release(ctx context.Context, name, token string) error {
	if token == "" {
		return errors.New("redlock: the token is empty: pass what Lock.Token or Inspect returned")
	}
	if err := names.CheckLength("token", token, kind.MaxToken); err != nil {
		return err
	}
	if err := mutexOf(name).Check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("not asked: %w", err)
	}
	if err := l.begin(); err != nil {
		return err
	}
	defer l.end()
	ttl := max(l.cfg.terms.TTL, l.cfg.maxTTL) // the token may be another Locker's, whose TTL may be up to maxTTL
	life := ttl + l.cfg.drift.Of(ttl)
	op := l.cfg.scripts.Release(name, token).From(l.cfg.origin(ctx, 0, nil))
	done := make(chan error, 1)
	l.quorum.ReleaseToken(op, l.cfg.terms.Timeout, life, func(err error) { done <- err })
	select {
	case err := <-done:
		return releaseError(err)
	case <-ctx.Done():
		return fmt.Errorf("the release continues in the background: %w", ctx.Err())
	case <-l.ending:
		return ErrClosed
	}
}

// releaseError returns the error of an Unlock or a Release for err, the result of the release on the masters.
func releaseError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, quorum.ErrGone):
		return fmt.Errorf("%w: %w", ErrLost, err)
	case errors.Is(err, ErrNoQuorum):
		return &failure{why: []error{errors.New("the release continues in the background"), err}}
	default:
		return err
	}
}
