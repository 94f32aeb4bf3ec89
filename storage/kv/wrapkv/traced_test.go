package wrapkv_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/tracing"
)

// below has all transactions of a store belong to traces.
type below struct {
	kv.Store
	tracer *tracing.Tracer
}

// View implements kv.Store.
func (b below) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	ctx, _ = b.tracer.Root(ctx, "test")
	return b.Store.View(ctx, fn)
}

// Update implements kv.Store.
func (b below) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	ctx, _ = b.tracer.Root(ctx, "test")
	return b.Store.Update(ctx, fn)
}

func TestTracedContract(t *testing.T) {
	tracer := &tracing.Tracer{Ratio: func() float64 { return 1 }, Ended: func(*tracing.Record) {}}
	wrapped(t, func(s kv.Store) kv.Store { return below{wrapkv.Traced(s), tracer} })
}

// TestTracedCounts: the span of a transaction has what all of its runs have read and written; one
// outside of a trace is the store's own.
func TestTracedCounts(t *testing.T) {
	var spans []*tracing.Record
	tracer := &tracing.Tracer{
		Ratio: func() float64 { return 1 }, Ended: func(r *tracing.Record) { spans = append(spans, r) },
	}
	engine := memkv.New()
	s := below{wrapkv.Traced(engine), tracer}
	runs := 0
	_, err := s.Update(t.Context(), func(tx kv.Tx) error {
		if _, err := tx.Get([]byte("a")); err != nil {
			return err
		}
		if runs++; runs == 1 { // somebody else's write is between the read and the commit
			require.NoError(t, update(t, engine, func(tx kv.Tx) { tx.Set([]byte("a"), []byte("1")) }))
		}
		tx.Set([]byte("b"), []byte("23"))
		kv.SetOwned(tx, []byte("c"), []byte("4"))
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, s.View(t.Context(), func(tx kv.ReadTx) error {
		if _, err := tx.GetMany([][]byte{[]byte("a"), []byte("x")}); err != nil {
			return err
		}
		it := tx.Snapshot().Range([]byte("a"), []byte("z"), kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
		}
		return it.Err()
	}))
	counts := func(r *tracing.Record) map[string]int64 {
		all := map[string]int64{}
		for _, a := range r.Attributes {
			all[a.Key[len("settee."):]] = a.Number
		}
		return all
	}
	require.Len(t, spans, 2)
	require.Equal(t, map[string]int64{
		"runs": 2, "keys": 2, "rows": 0, "bytes_read": 1, "writes": 4, "bytes_written": 10,
	}, counts(spans[0]))
	require.Equal(t, map[string]int64{"runs": 1, "keys": 2, "rows": 3, "bytes_read": 8}, counts(spans[1]))

	plain := wrapkv.Traced(engine)
	require.NoError(t, plain.View(t.Context(), func(tx kv.ReadTx) error {
		var own kv.ReadTx
		require.NoError(t, engine.View(t.Context(), func(tx kv.ReadTx) error { own = tx; return nil }))
		require.IsType(t, own, tx)
		return nil
	}))
	require.Len(t, spans, 2)
}
