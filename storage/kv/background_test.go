package kv_test

import (
	"context"
	"testing"

	"github.com/settee-db/settee/storage/kv"
)

// TestMarks: the marks of contexts do not take each other's place.
func TestMarks(t *testing.T) {
	plain := context.Background()
	both := kv.InBackground(kv.UseReserve(plain))
	for what, c := range map[string]struct{ got, want bool }{
		"plain, background": {kv.IsInBackground(plain), false},
		"plain, reserve":    {kv.UsesReserve(plain), false},
		"both, background":  {kv.IsInBackground(both), true},
		"both, reserve":     {kv.UsesReserve(both), true},
	} {
		if c.got != c.want {
			t.Errorf("%s: %t", what, c.got)
		}
	}
}

// TestTag: the last mark counts, and it does not take another's place.
func TestTag(t *testing.T) {
	ctx := context.Background()
	for _, want := range []string{"", "db:a", "user:b"} {
		if want != "" {
			ctx = kv.InBackground(kv.WithTag(ctx, want))
		}
		if got := kv.Tag(ctx); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}
