package tombstones

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// Index is the index of the database with these keys.
type Index struct{ Keys keyspace.Space }

// Row is a deleted document.
type Row struct {
	Seq compat.Seq // of its last update
	ID  string
}

// Add notes a document that the transaction deletes, at a sequence whose versionstamp the commit
// fills in.
func (x Index) Add(tx kv.Writer, seq compat.Seq, id string) {
	key := x.Keys.SeqKey(nil, keyspace.TagTombstones, seq)
	tx.SetVersionstampedKey(key, x.Keys.SeqStampOffset(key), []byte(id))
}

// Remove notes that the feed has no deleted document at a committed sequence any more.
func (x Index) Remove(tx kv.Writer, seq compat.Seq) {
	tx.Clear(x.Keys.SeqKey(nil, keyspace.TagTombstones, seq))
}

// Rows reads the oldest rows after a sequence and up to another one, that one included; at most
// limit.
func (x Index) Rows(r kv.ReadTx, after, until compat.Seq, limit int) (rows []Row, err error) {
	begin := kv.AppendKeyAfter(nil, x.Keys.SeqKey(nil, keyspace.TagTombstones, after))
	end := kv.AppendKeyAfter(nil, x.Keys.SeqKey(nil, keyspace.TagTombstones, until))
	it := r.Range(begin, end, kv.RangeOptions{Limit: limit})
	defer it.Close()
	for it.Next() {
		seq, err := keyspace.ParseSeq(it.Key())
		if err != nil {
			return nil, err
		}
		rows = append(rows, Row{Seq: seq, ID: string(it.Value())})
	}
	return rows, it.Err()
}
