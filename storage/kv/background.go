package kv

import "context"

type (
	backgroundKey struct{}
	tagKey        struct{}
	prefetchKey   struct{}
)

// InBackground marks the transactions of ctx as ones that nobody waits for: builds, compactions,
// checks. An engine whose servers have more to do than they can lets them wait for others. Wrappers
// hand the mark on with the context. Other engines know no difference.
func InBackground(ctx context.Context) context.Context {
	if IsInBackground(ctx) {
		return ctx
	}
	return context.WithValue(ctx, backgroundKey{}, true)
}

// IsInBackground reports whether InBackground has marked ctx.
func IsInBackground(ctx context.Context) bool { return ctx.Value(backgroundKey{}) != nil }

// WithTag marks the transactions of ctx as those of one tenant: an engine whose servers can bound
// what one of them does tells them. Wrappers hand the mark on with the context. Other engines know
// no difference. No name is no mark.
func WithTag(ctx context.Context, tenant string) context.Context {
	if tenant == "" {
		return ctx
	}
	return context.WithValue(ctx, tagKey{}, tenant)
}

// Tag is what WithTag has marked ctx with, the last time; "" if ctx has no mark.
func Tag(ctx context.Context) string {
	tenant, _ := ctx.Value(tagKey{}).(string)
	return tenant
}

// WithPrefetch marks the Views of ctx as reads of a kind, which begin with the same keys each time.
// A store across a network reads these together (wrapkv.Prefetching). Other stores know no
// difference.
func WithPrefetch(ctx context.Context, kind string) context.Context {
	return context.WithValue(ctx, prefetchKey{}, kind)
}

// PrefetchKind is the kind that WithPrefetch has marked ctx with; "" if it has not.
func PrefetchKind(ctx context.Context) string {
	kind, _ := ctx.Value(prefetchKey{}).(string)
	return kind
}
