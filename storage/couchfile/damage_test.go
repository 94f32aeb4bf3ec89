package couchfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// content is everything that a file says, with the damages apart.
func content(t testing.TB, file []byte) (said map[string]string, damages []*Damage) {
	t.Helper()
	f, damages, err := open("x.couch", bytes.NewReader(file), int64(len(file)))
	var d *Damage
	if errors.As(err, &d) {
		return nil, append(damages, d)
	}
	require.NoError(t, err)
	said = map[string]string{}
	lost := func(d *Damage) error { damages = append(damages, d); return nil }
	require.NoError(t, f.Revisions(0, func(r *Revision) error {
		text := string(r.Body)
		for i := range r.Attachments {
			a := &r.Attachments[i]
			data, err := io.ReadAll(f.Bytes(a))
			if errors.As(err, &d) {
				damages = append(damages, d)
				return nil
			}
			require.NoError(t, err)
			text += string(data)
		}
		said[r.ID+r.Revs.Rev().String()] = text
		return nil
	}, lost))
	require.NoError(t, f.Locals(func(l Local) error { return nil }, lost))
	require.NoError(t, f.Purges(func(p Purge) error { return nil }, lost))
	return said, damages
}

// TestDamages: a file that is cut at any place, or of which any byte is another, makes no panic and no
// loop. No body and no attachment is given that the file never had: they have checksums. A cut file is
// as it was at an earlier header.
func TestDamages(t *testing.T) {
	dir := unpack(t, "testdata/couchdb-3.5.0.tar.gz")
	for _, c := range []struct {
		pattern string
		tries   int
	}{{"data/shards/*/a/b+c.*.couch", 5000}, {"data/shards/*/from_deflate.*.couch", 400}, {"data/shards/*/from_none.*.couch", 400}} {
		files, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(c.pattern)))
		require.NoError(t, err)
		for _, file := range files {
			whole, err := os.ReadFile(file)
			require.NoError(t, err)
			_, damages := content(t, whole)
			require.Empty(t, damages)
			had := map[string]bool{} // at any of its headers
			for at := len(whole); at > 0; at = (at - 1) / blockSize * blockSize {
				then, _ := content(t, whole[:at])
				for _, text := range then {
					had[text] = true
				}
			}
			step := max(1, len(whole)/c.tries)
			if testing.Short() {
				step *= 10
			}
			detected := 0
			for at := 0; at < len(whole); at += step {
				changed := bytes.Clone(whole)
				changed[at] ^= byte(1 + at%255)
				now, damages := content(t, changed)
				if len(damages) > 0 {
					detected++
				}
				for key, text := range now {
					require.True(t, had[text], "byte %d: %s", at, key)
				}
				now, _ = content(t, whole[:at])
				for key, text := range now {
					require.True(t, had[text], "cut at %d: %s", at, key)
				}
			}
			require.Positive(t, detected)
		}
	}
}
