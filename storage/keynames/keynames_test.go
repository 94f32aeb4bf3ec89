package keynames

import (
	"testing"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/tuple"
)

func TestOf(t *testing.T) {
	in := func(tag storage.Tag) []byte { return tuple.AppendInt(tuple.AppendInt(nil, 40), int64(tag)) }
	for want, key := range map[string][]byte{
		`database 40, revisions "a doc"`: tuple.AppendInt(tuple.AppendString(in(storage.TagRevs), "a doc"), 1),
		`database 40, last sequence`:     in(storage.TagLastSeq),
		`database 40, subspace 99`:       in(99),
		`database 40`:                    tuple.AppendInt(nil, 40),
		`databases "db"`:                 tuple.AppendString(tuple.AppendInt(nil, 1), "db"),
		`jobs`:                           tuple.AppendString(storage.JobsPrefix(), "x"),
		`head of the store`:              storage.HeadKey(),
		`"\xff\x00"`:                     {0xff, 0},
		`database 40, counters`:          tuple.AppendInt(in(storage.TagStats), 3),
		`database 40, full-text indexes`: tuple.AppendInt(in(storage.TagSearch), 3),
	} {
		if got := Of(key); got != want {
			t.Errorf("%q is %s, want %s", key, got, want)
		}
	}
	for tag := storage.TagSecurity; tag <= storage.TagSearch; tag++ {
		if tag <= storage.TagCountLog || tag >= storage.TagViews {
			if tags[tag] == "" {
				t.Errorf("subspace %d has no name", tag)
			}
		}
	}
}
