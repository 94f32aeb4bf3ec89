package search

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// What is stored of an index is read as it was written, or refused as damaged.
func FuzzRecords(f *testing.F) {
	f.Add((&record{number: 3, fields: 40}).encode())
	segments := []segmentInfo{{8, 100, 3, 2, 4096}, {1, 2, 3, 4, 5}}
	f.Add((&manifest{version: 2, next: 9, flushed: "at", segments: segments}).encode())
	f.Add((&logEntry{kill: segment.Identity(make([]byte, 13)), doc: []byte("document")}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := parseRecord(b); err == nil {
			again, err := parseRecord(r.encode())
			require.NoError(t, err)
			require.Equal(t, r, again)
		} else {
			require.True(t, errors.Is(err, kv.ErrCorrupt), err)
		}
		if m, err := parseManifest(b); err == nil {
			again, err := parseManifest(m.encode())
			require.NoError(t, err)
			require.Equal(t, m, again)
		} else {
			require.True(t, errors.Is(err, kv.ErrCorrupt), err)
		}
		if e, err := parseLogEntry("at", b); err == nil {
			again, err := parseLogEntry("at", e.encode())
			require.NoError(t, err)
			require.Equal(t, e.kill, again.kill)
			require.Equal(t, string(e.doc), string(again.doc))
		} else {
			require.True(t, errors.Is(err, kv.ErrCorrupt), err)
		}
	})
}

// TestManyPieces: an entry of the log comes back whole from any number of pieces, and the entry
// after it stays apart.
func TestManyPieces(t *testing.T) {
	ctx := context.Background()
	engine := memkv.New()
	defer engine.Close()
	k := space("prefix").keysOf(1)
	doc := make([]byte, 300*maxValue+1)
	rand.NewChaCha8([32]byte{1}).Read(doc)
	for i, entry := range []*logEntry{{doc: doc}, {doc: []byte("next")}} {
		_, err := engine.Update(ctx, func(tx kv.Tx) error {
			at := make([]byte, keyspace.SeqSize)
			at[keyspace.SeqSize-1] = byte(i)
			k.writeLog(tx, at, entry)
			return nil
		})
		require.NoError(t, err)
	}
	var got [][]byte
	require.NoError(t, engine.View(ctx, func(r kv.ReadTx) error {
		upTo, err := k.lastOfLog(r)
		require.NoError(t, err)
		return k.readLog(r, "", upTo, func(e *logEntry) error {
			got = append(got, bytes.Clone(e.doc))
			return nil
		})
	}))
	require.Len(t, got, 2)
	require.True(t, bytes.Equal(doc, got[0]))
	require.Equal(t, "next", string(got[1]))
}
