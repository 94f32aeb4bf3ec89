package replaced

import (
	"bytes"
	"fmt"

	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Index is the index of the database with these keys.
type Index struct{ Keys keyspace.Space }

// Key is the row of an entry that was replaced at a time, in milliseconds since 1970; entry is what
// its key has behind that of TagHistory.
func (x Index) Key(ms int64, entry []byte) []byte {
	return append(tuple.AppendInt(x.Keys.Sub(nil, keyspace.TagReplaced), ms), entry...)
}

// Row is an entry, and when it was replaced.
type Row struct {
	MS    int64  // milliseconds since 1970
	Entry []byte // what its key has behind that of TagHistory
}

// parse reads a key; the entry shares memory with it.
func (x Index) parse(key []byte) (row Row, err error) {
	ms, entry, err := tuple.ReadInt(key[len(x.Keys.Sub(nil, keyspace.TagReplaced)):])
	if err != nil || len(entry) == 0 {
		return row, fmt.Errorf("time of a replaced revision: %w", kv.ErrCorrupt)
	}
	return Row{ms, entry}, nil
}

// Oldest reads the rows that were replaced first, at most limit.
func (x Index) Oldest(r kv.ReadTx, limit int) (rows []Row, err error) {
	begin, end := keyspace.Children(x.Keys.Sub(nil, keyspace.TagReplaced))
	it := r.Range(begin, end, kv.RangeOptions{Limit: limit, WantAll: true})
	defer it.Close()
	for it.Next() {
		row, err := x.parse(bytes.Clone(it.Key()))
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, it.Err()
}
