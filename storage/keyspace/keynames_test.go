package keyspace

import (
	"testing"

	"github.com/settee-db/settee/storage/kv/tuple"
)

func TestKeyName(t *testing.T) {
	in := func(tag Tag) []byte { return tuple.AppendInt(tuple.AppendInt(nil, 40), int64(tag)) }
	for want, key := range map[string][]byte{
		`database 40, revisions "a doc"`: tuple.AppendInt(tuple.AppendString(in(TagRevs), "a doc"), 1),
		`database 40, last sequence`:     in(TagLastSeq),
		`database 40, subspace 99`:       in(99),
		`database 40`:                    tuple.AppendInt(nil, 40),
		`databases "db"`:                 tuple.AppendString(tuple.AppendInt(nil, 1), "db"),
		`jobs`:                           tuple.AppendString(JobsPrefix(), "x"),
		`head of the store`:              HeadKey(),
		`"\xff\x00"`:                     {0xff, 0},
		`database 40, counters`:          tuple.AppendInt(in(TagStats), 3),
		`database 40, full-text indexes`: tuple.AppendInt(in(TagSearch), 3),
	} {
		if got := KeyName(key); got != want {
			t.Errorf("%q is %s, want %s", key, got, want)
		}
	}
	for tag := TagSecurity; tag <= TagSearch; tag++ {
		if tag <= TagReplaced || tag >= TagViews {
			if subspaceNames[tag] == "" {
				t.Errorf("subspace %d has no name", tag)
			}
		}
	}
}
