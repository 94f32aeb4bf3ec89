package storage

import (
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// AppendDesignStamp appends a text that differs whenever the design documents of the database do: which there are, or
// one's current revision. It costs a range read of a row for each design document. In a transaction whatever is made of
// the text is ordered with writes of design documents; those of the transaction itself do not show.
func (x *Tx) AppendDesignStamp(dst []byte) ([]byte, error) {
	add := func(key, winner []byte) error {
		dst = append(append(dst, key...), winner...)
		return nil
	}
	it := x.t.designRows
	if x.t.designRows = nil; it == nil {
		it = designRange(x.t.tx, x.t.keys)
	}
	err := designRows(it, x.t.keys, add)
	return dst, err
}

// AppendDesignStamp is that of Tx, as the snapshot shows it.
func (s *Snapshot) AppendDesignStamp(dst []byte) ([]byte, error) {
	err := designRows(designRange(s.d.r, s.d.keys), s.d.keys, func(key, winner []byte) error {
		dst = append(append(dst, key...), winner...)
		return nil
	})
	return dst, err
}

// DesignDocs lists the design documents that AppendDesignStamp tells of, in order of their ids.
func (x *Tx) DesignDocs() (list []DocRef, err error) {
	err = designRows(designRange(x.t.tx, x.t.keys), x.t.keys, func(key, winner []byte) error {
		id, _, err := tuple.ReadString(key)
		if err != nil {
			return corrupt("list of ids", err)
		}
		rev, err := parseWinner(winner)
		list = append(list, DocRef{ID: id, Rev: rev})
		return err
	})
	return list, err
}

// designRange asks for the rows of the design documents in TagAllDocs.
func designRange(r kv.ReadTx, keys space) kv.Iterator {
	o := RangeOptions{Namespace: NamespaceDesign, Limit: -1}
	o.clamp()
	begin, end := o.keys(keys.sub(nil, TagAllDocs))
	return r.Range(begin, end, kv.RangeOptions{WantAll: true})
}

// designRows calls row for each row of designRange with its key after the prefix of TagAllDocs.
func designRows(it kv.Iterator, keys space, row func(key, winner []byte) error) error {
	defer it.Close()
	prefix := keys.sub(nil, TagAllDocs)
	for it.Next() {
		if err := row(it.Key()[len(prefix):], it.Value()); err != nil {
			return err
		}
	}
	return it.Err()
}

// OpenDesign reads a revision that DesignDocs listed.
func (x *Tx) OpenDesign(ref DocRef) (*Document, error) {
	return x.t.openWinner(ref.ID, OpenOptions{})
}

// Security is the database's security object as the transaction sees it; nil if it was never set
// (compat.DefaultSecurity is in force then).
func (x *Tx) Security() ([]byte, error) { return x.t.security() }
