package storage

import (
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// AppendDesignStamp appends a text that differs whenever the design documents of the database do:
// which there are, or one's current revision. There is none if there never was a design document.
// It costs the read of a key. In a transaction whatever is made of the text is ordered with writes
// of design documents; those of the transaction itself do not show.
func (x *Tx) AppendDesignStamp(dst []byte) ([]byte, error) {
	stamp, err := x.Head().Get(x.t.Keys.Sub(nil, keyspace.TagDesigns))
	return append(dst, stamp...), err
}

// AppendDesignStamp is that of Tx, as the snapshot shows it.
func (s *Snapshot) AppendDesignStamp(dst []byte) ([]byte, error) {
	stamp, err := s.d.R.Get(s.d.Keys.Sub(nil, keyspace.TagDesigns))
	return append(dst, stamp...), err
}

// stampDesigns has the transaction change what AppendDesignStamp tells.
func (t *dbTx) stampDesigns() {
	stamp := Seq{Incarnation: t.Rec.Incarnation}
	t.tx.SetVersionstampedValue(t.Keys.Sub(nil, keyspace.TagDesigns), keyspace.AppendSeq(nil, stamp), 1)
}

// DesignDocs lists the design documents that AppendDesignStamp tells of, in order of their ids.
func (x *Tx) DesignDocs() ([]docread.DocRef, error) { return designDocs(x.t.tx, x.t.Keys) }

// designDocs lists the live design documents from TagAllDocs: their ids are next to each other, so
// one range read finds them however many documents the database has.
func designDocs(r kv.ReadTx, keys keyspace.Space) (list []docread.DocRef, err error) {
	o := RangeOptions{Namespace: NamespaceDesign, Limit: -1}
	o.clamp()
	prefix := keys.Sub(nil, keyspace.TagAllDocs)
	begin, end := o.keys(prefix)
	it := r.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	for it.Next() {
		id, _, err := tuple.ReadString(it.Key()[len(prefix):])
		if err != nil {
			return nil, keyspace.Corrupt("list of ids", err)
		}
		rev, err := formats.ParseWinner(it.Value())
		if err != nil {
			return nil, err
		}
		list = append(list, docread.DocRef{ID: id, Rev: rev})
	}
	return list, it.Err()
}

// OpenDesign reads a revision that DesignDocs listed.
func (x *Tx) OpenDesign(ref docread.DocRef) (*docread.Document, error) {
	return x.t.OpenWinner(ref.ID, docread.OpenOptions{})
}

// Security is the database's security object as the transaction sees it; nil if it was never set
// (compat.DefaultSecurity is in force then).
func (x *Tx) Security() ([]byte, error) { return x.t.security() }
