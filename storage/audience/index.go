package audience

import (
	"encoding/binary"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Index has the keys of a database.
type Index struct{ Keys keyspace.Space }

const (
	subRows   = 1
	subList   = 2
	subCounts = 3
	subLocals = 4

	countLive    = 0
	countDeleted = 1
)

func (x Index) sub(part int64, principal string) []byte {
	return tuple.AppendString(tuple.AppendInt(x.Keys.Sub(nil, keyspace.TagAccess), part), principal)
}

// Rows is the prefix of the rows of a principal's feed; a sequence follows. The byte between them
// is there because a text of a tuple may go on with the byte that a sequence may begin with.
func (x Index) Rows(principal string) []byte { return append(x.sub(subRows, principal), 1) }

// List is the prefix of a principal's list of documents; an id follows.
func (x Index) List(principal string) []byte { return x.sub(subList, principal) }

// Local is the key of a local document of a user, or with an empty id the prefix of all of them.
func (x Index) Local(user, id string) []byte {
	key := x.sub(subLocals, user)
	if id == "" {
		return key
	}
	return tuple.AppendString(key, id)
}

// Locals is the prefix of the local documents of all users; a user follows, and an id.
func (x Index) Locals() []byte {
	return tuple.AppendInt(x.Keys.Sub(nil, keyspace.TagAccess), subLocals)
}

func (x Index) row(principal string, seq compat.Seq) []byte {
	return keyspace.AppendSeq(x.Rows(principal), seq)
}

func (x Index) listed(principal, id string) []byte {
	return tuple.AppendString(x.List(principal), id)
}

func (x Index) last(principal string) []byte { return x.sub(subCounts, principal) }

func (x Index) counter(principal string, n int64) []byte {
	return tuple.AppendInt(x.last(principal), n)
}

// Row is a row of a principal's feed.
type Row struct {
	ID      string
	Winner  compat.Rev // of the leaves that name the principal
	Deleted bool       // all of them are tombstones
	Leaves  int        // how many they are
	// Gone are the leaves, the highest revision first, that the principal saw before none was left; nil
	// if there are some.
	Gone []compat.Rev
}

const (
	rowDeleted = 1
	rowGone    = 2
)

// encode gives the row's value: flags, varint number of leaves, the winner, the others of those
// that are gone, the id to the end.
func (w *Row) encode() []byte {
	var flags byte
	if w.Deleted {
		flags |= rowDeleted
	}
	revs := []compat.Rev{w.Winner}
	if w.Gone != nil {
		flags |= rowGone
		revs = w.Gone
	}
	dst := binary.AppendUvarint([]byte{flags}, uint64(w.Leaves))
	for _, rev := range revs {
		dst = packed.AppendText(binary.AppendVarint(dst, rev.Pos), rev.Hash)
	}
	return append(dst, w.ID...)
}

// ParseRow reads the value of a row; kv.ErrCorrupt if it is none.
func ParseRow(value []byte) (w Row, err error) {
	r := packed.Reader{B: value}
	flags := r.Byte()
	w.Deleted = flags&rowDeleted != 0
	if flags&rowGone != 0 {
		w.Leaves = r.Count(2)
		w.Gone = make([]compat.Rev, w.Leaves)
		for i := range w.Gone {
			w.Gone[i] = compat.Rev{Pos: r.Varint(), Hash: r.Text()}
		}
		if r.Bad = r.Bad || w.Leaves == 0; !r.Bad {
			w.Winner = w.Gone[0]
		}
	} else {
		n := r.Uvarint()
		w.Leaves = int(min(n, 1<<30))
		w.Winner = compat.Rev{Pos: r.Varint(), Hash: r.Text()}
	}
	if r.Bad || flags > rowDeleted|rowGone {
		return Row{}, keyspace.Corrupt("row of a principal", nil)
	}
	w.ID = string(r.B)
	return w, nil
}
