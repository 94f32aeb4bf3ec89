package tombstones

import (
	"bytes"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
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

// Build adds, in a transaction, the rows of some more of the feed of a database to its index, and
// reports whether that has all of them now; then it has said so in the database's record. It
// conflicts with edits of the documents that it adds, and in its last transaction with all writers
// of the database. rows is how many of the feed it reads at most. The error is compat.ErrNoDatabase
// if there is no database of that name.
func Build(tx kv.Tx, name string, rows int) (whole bool, err error) {
	value, err := tx.Get(keyspace.RecordKey(name))
	if err != nil {
		return false, err
	}
	if value == nil {
		return false, compat.ErrNoDatabase
	}
	rec, err := keyspace.ParseRecord(value)
	if err != nil || rec.Tombstones {
		return rec.Tombstones, err
	}
	x := Index{Keys: keyspace.NewSpace(rec.Prefix)}
	if whole, err = x.build(tx, rows); whole {
		rec.Tombstones = true
		tx.Set(keyspace.RecordKey(name), rec.Encode())
	}
	return whole, err
}

// build adds the rows of some more of the feed.
func (x Index) build(tx kv.Tx, rows int) (whole bool, err error) {
	progress := x.Keys.Sub(nil, keyspace.TagTombstones)
	value, err := tx.Get(progress)
	if err != nil {
		return false, err
	}
	var last compat.Seq
	if value != nil {
		if last, err = keyspace.ParseSeq(value); err != nil {
			return false, err
		}
	}
	found, read, err := x.deleted(tx.Snapshot(), &last, rows)
	if err != nil {
		return false, err
	}
	keys := make([][]byte, len(found))
	for i, row := range found {
		keys[i] = x.Keys.SeqKey(nil, keyspace.TagChanges, row.Seq)
	}
	if _, err := tx.GetMany(keys); err != nil { // for the conflicts
		return false, err
	}
	for _, row := range found {
		tx.Set(x.Keys.SeqKey(nil, keyspace.TagTombstones, row.Seq), []byte(row.ID))
	}
	if read == rows {
		tx.Set(progress, keyspace.AppendSeq(nil, last))
		return false, nil
	}
	tx.Clear(progress)
	return true, nil
}

// deleted reads some rows of the feed after *last, which it moves to the last of them, and gives
// the deleted documents among them.
func (x Index) deleted(r kv.ReadTx, last *compat.Seq, rows int) (found []Row, read int, err error) {
	prefix := x.Keys.Sub(nil, keyspace.TagChanges)
	begin := kv.AppendKeyAfter(nil, x.Keys.SeqKey(nil, keyspace.TagChanges, *last))
	it := r.Range(begin, kv.AppendPrefixEnd(nil, prefix), kv.RangeOptions{Limit: rows, WantAll: true})
	defer it.Close()
	for ; it.Next(); read++ {
		seq, err := keyspace.ParseSeq(bytes.TrimPrefix(it.Key(), prefix))
		if err != nil {
			return nil, 0, err
		}
		row, err := formats.ParseChange(it.Value())
		if err != nil {
			return nil, 0, err
		}
		if *last = seq; row.Deleted {
			found = append(found, Row{Seq: seq, ID: row.ID})
		}
	}
	return found, read, it.Err()
}
