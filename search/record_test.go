package search

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/search/index"
	"github.com/settee-db/settee/storage/kv"
)

// What is stored of an index is read as it was written, or refused as damaged.
func FuzzRecords(f *testing.F) {
	f.Add((&record{number: 3, fields: 40}).encode())
	segments := []segmentInfo{{8, 100, 3, 2, 4096}, {1, 2, 3, 4, 5}}
	f.Add((&manifest{version: 2, next: 9, flushed: "at", segments: segments}).encode())
	f.Add((&logEntry{kill: index.Identity(make([]byte, 13)), doc: []byte("document")}).encode())
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
