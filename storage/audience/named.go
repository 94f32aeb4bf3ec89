package audience

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// What Named reads at most: rows of the feed of all, in parts whose leaves are asked for together.
const (
	mostNamedRows = 1000
	namedAtOnce   = 64
)

// Named are the principals whose feeds may have a row of the updates after a sequence. It reads the
// rows of those updates in the feed of all, and of each document the winner, which leaves of several
// documents gives: it names those who see the document, and those for whom it is gone. A document
// that was purged is in no feed. Nil stands for everybody: there are more rows, or leaves gives less.
func (x Index) Named(
	r kv.ReadTx,
	since compat.Seq,
	leaves func(ids []string) ([][]formats.Leaf, error),
) (map[string]bool, error) {
	begin := kv.AppendKeyAfter(nil, x.Keys.SeqKey(nil, keyspace.TagChanges, since))
	end := kv.AppendPrefixEnd(nil, x.Keys.Sub(nil, keyspace.TagChanges))
	it := r.Range(begin, end, kv.RangeOptions{Limit: mostNamedRows + 1})
	defer it.Close()
	named := make(map[string]bool)
	var ids []string
	for rows := 1; ; rows++ {
		more := it.Next()
		if err := it.Err(); !more && err != nil {
			return nil, err
		}
		if more {
			row, err := formats.ParseChange(it.Value())
			if err != nil || rows > mostNamedRows {
				return nil, err
			}
			ids = append(ids, row.ID)
		}
		if len(ids) == namedAtOnce || !more && len(ids) > 0 {
			of, err := leaves(ids)
			if err != nil || len(of) < len(ids) {
				return nil, err
			}
			for _, document := range of {
				addNamed(named, document)
			}
			ids = ids[:0]
		}
		if !more {
			return named, nil
		}
	}
}

func addNamed(named map[string]bool, leaves []formats.Leaf) {
	for i := range leaves {
		for _, sight := range leaves[i].Sights {
			named[sight.Principal] = true
		}
	}
}
