package kv

import (
	"context"
	"errors"
)

type reserveKey struct{}

// UseReserve marks the transactions of ctx as ones that free space, or that freeing it depends on.
// An engine that keeps a part of its device in reserve goes on to commit them while it refuses
// others with ErrFull; when the reserve is used up, too, they get ErrFull as well. Wrappers hand
// the mark on with the context. Other engines know no difference.
func UseReserve(ctx context.Context) context.Context {
	return context.WithValue(ctx, reserveKey{}, true)
}

// UsesReserve reports whether UseReserve has marked ctx.
func UsesReserve(ctx context.Context) bool { return ctx.Value(reserveKey{}) != nil }

// FromReserve calls do, which frees space; once more out of the store's reserve if the store is
// full.
func FromReserve(ctx context.Context, do func(context.Context) error) error {
	err := do(ctx)
	if errors.Is(err, ErrFull) && !UsesReserve(ctx) {
		return do(UseReserve(ctx))
	}
	return err
}
