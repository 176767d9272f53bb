package fencing

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed save.lua
var saveLua string

var saveScript = redis.NewScript(saveLua)

// Hash keeps values in a Redis, each in a hash with the largest token that has written it.
type Hash struct{ Client redis.UniversalClient }

// Save writes a value unless a later holder has written it. It may be repeated.
func (h Hash) Save(ctx context.Context, fence uint64, key, value string) error {
	written, err := saveScript.Run(ctx, h.Client, []string{key}, fence, value).Bool()
	if err != nil {
		return err
	}
	if !written {
		return ErrStale
	}
	return nil
}
