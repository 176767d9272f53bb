package redlock

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// origin returns the mark that tells the Vote hook to which acquisition or hold a request belongs; nil without a hook.
// ctx is the context that the hook gets. k is nil if the request belongs to neither.
func (c *config) origin(ctx context.Context, id uint64, k *kind.Kind) *node.Origin {
	if !c.trace.votes() {
		return nil
	}
	o := &node.Origin{Context: context.WithoutCancel(ctx), ID: id, Fencing: c.terms.Fencing}
	if k != nil {
		o.Kind = k.Name
	}
	return o
}

// tracedOps are the operations of a lock, marked with their origin.
type tracedOps struct {
	quorum.Ops
	origin *node.Origin
}

// traced returns ops marked with origin, or ops itself if origin is nil.
func traced(ops quorum.Ops, origin *node.Origin) quorum.Ops {
	if origin == nil {
		return ops
	}
	return tracedOps{ops, origin}
}

func (t tracedOps) Acquire(terms *quorum.Terms, asked time.Time) *node.Op {
	return mark(t.Ops.Acquire(terms, asked), t.origin)
}

func (t tracedOps) Raise(terms *quorum.Terms, fence int64) *node.Op {
	return mark(t.Ops.Raise(terms, fence), t.origin)
}

func (t tracedOps) Extend(terms *quorum.Terms, fence int64) *node.Op {
	return mark(t.Ops.Extend(terms, fence), t.origin)
}

func (t tracedOps) Release(announce bool) *node.Op { return mark(t.Ops.Release(announce), t.origin) }

func (t tracedOps) Keep(rest time.Duration) *node.Op {
	return mark(t.Ops.Keep(rest), t.origin)
}

// mark sets the origin of a new operation, and returns the operation.
func mark(op *node.Op, origin *node.Origin) *node.Op {
	op.Origin = origin
	return op
}
