package search

import (
	"context"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// most is a docread.Memory that notes how much was held.
type most int

func (m *most) Hold(_ context.Context, bytes int) error {
	*m = max(*m, most(bytes))
	return nil
}

// TestLookupHoldsItsDesign: who looks an index up, or the indexes that are wanted, holds what the
// design document takes when it is parsed.
func TestLookupHoldsItsDesign(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	body := `{"more":[` + strings.Repeat(`0,`, 100_000) + `0],"indexes":{"i":{"index":"function (d) {}"}}}`
	b.put(t, "_design/d", body)
	for what, read := range map[string]func(db *storage.DB) error{
		"lookup": func(db *storage.DB) error {
			_, err := b.indexes.Lookup(t.Context(), db, segment.Clouseau, "_design/d", "i")
			return err
		},
		"wanted": func(db *storage.DB) error {
			_, err := b.indexes.wanted(t.Context(), db)
			return err
		},
	} {
		var held most
		must(t, read(b.db.Within(&held)))
		if int(held) < len(body)+int(ejson.TapeSize([]byte(body))) {
			t.Errorf("%s held %d", what, held)
		}
	}
}
