package allfields

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// update is what one transaction does to the indexes of its database. Documents are collected and
// indexed together, so that what is to be read for them is read at once.
type update struct {
	x *Indexes
	// The registry as it is after the design documents of this transaction.
	reg  *registry
	docs []changed
	// Documents of the transaction so far, also those that were flushed before.
	all int
}

// changed is a document with its body before and after the transaction, nil where there is none.
type changed struct {
	id            string
	before, after *docread.Document
}

// add is the storage.IndexFunc.
func (u *update) add(_ context.Context, tx *storage.Tx, id string, before, after *docread.Document) (err error) {
	if strings.HasPrefix(id, designPrefix) {
		u.reg, err = u.x.designChanged(tx, u.reg, id, after)
		return err
	}
	if len(u.docs) == 0 {
		tx.BeforeCommit(func() error { return u.flush(tx) })
	}
	u.docs = append(u.docs, changed{id, before, after})
	u.all++
	return nil
}

// flush indexes the documents collected.
func (u *update) flush(tx *storage.Tx) error {
	docs := u.docs
	u.docs = u.docs[:0]
	c := u.x.work.Get().(*change)
	defer u.x.work.Put(c)
	for i := range u.reg.indexes {
		ix := &u.reg.indexes[i]
		indexed := docs
		if !ix.ready {
			var err error
			if indexed, err = passed(tx, ix.number, docs); err != nil {
				return err
			}
		}
		others, err := notBrokenDown(tx, ix, indexed)
		if err != nil {
			return err
		}
		w := writer{c: c, tx: tx, ix: ix, most: u.x.most(len(u.reg.indexes)), alone: u.all == 1, limit: u.x.transaction}
		for n := range indexed {
			if err := w.write(&indexed[n], others[n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// most is what the entries of a document may take of a transaction in one of some indexes, 0 for
// anything: a tenth of the store's limit for all of them, so that a document that fits without
// indexes also fits with them.
func (x *Indexes) most(indexes int) int { return x.transaction / 10 / max(indexes, 1) }

// notBrokenDown tells which documents the index has as others.
func notBrokenDown(tx *storage.Tx, ix *registered, docs []changed) ([]bool, error) {
	// Only documents that were there can be among the others: new ones need no read.
	var keys [][]byte
	var at []int
	rows := spaceOf(tx).sub(ix.number, keyRows)
	for i := range docs {
		if docs[i].before != nil {
			keys, at = append(keys, otherKey(rows, docs[i].id)), append(at, i)
		}
	}
	others := make([]bool, len(docs))
	if len(keys) == 0 {
		return others, nil
	}
	values, err := tx.KV().GetMany(keys)
	for n, i := range at {
		others[i] = err == nil && values[n] != nil
	}
	return others, err
}

// otherKey is the key of the entry of a document that is not broken down; rows is the prefix of the
// entries.
func otherKey(rows []byte, id string) []byte {
	key := append(append(make([]byte, 0, len(rows)+len(id)+8), rows...), firstValue)
	return tuple.AppendString(tuple.AppendInt(key, 0), id)
}

// change is the memory of one document's change.
type change struct {
	before, after entries
	deltas        map[string]int64
	key, value    []byte
}

// writer brings an index up to date with documents.
type writer struct {
	c     *change
	tx    *storage.Tx
	ix    *registered
	most  int  // of bounds
	alone bool // the transaction is of one document only
	limit int  // of the transaction's size, 0: none
}

// write writes the entries that only one of a document's two bodies has. wasOther tells that the
// index has the body before among the others: then a single entry is what has to go.
func (w *writer) write(d *changed, wasOther bool) error {
	c, b := w.c, w.ix.whole(w.ix.exclude)
	old, err := c.before.read(d.before, b)
	if err != nil {
		return err
	}
	if wasOther {
		old = c.before.other()
	}
	now, err := c.after.read(d.after, w.ix.boundsOf(w.ix.exclude, w.most))
	if err != nil {
		return err
	}
	// The bound is looked at before anything is written: entries that go are taken for half as much
	// again as those that come.
	if size := w.tx.KV().Size(); w.limit > 0 && size+c.before.size+c.before.size/2+c.after.size > w.limit {
		switch {
		case !w.alone: // the transaction takes fewer documents
			return fmt.Errorf("%w: with the entries of %q", kv.ErrTooLarge, d.id)
		case d.after != nil:
			now = c.after.other()
		}
	}
	w.diff(d.id, old, now)
	return nil
}

// read gives the entries of a document, none of nil.
func (s *entries) read(doc *docread.Document, b bounds) ([]entry, error) {
	if s.size = 0; doc == nil {
		return nil, nil
	}
	parser := ejson.AcquireParser()
	defer parser.Release()
	body, err := parser.Parse(doc.Body)
	if err != nil {
		return nil, err
	}
	return s.of(body, doc.ID, b), nil
}

// diff writes the entries that only one of two lists has.
func (w *writer) diff(id string, old, now []entry) {
	c, tx := w.c, w.tx.KV()
	if c.deltas == nil {
		c.deltas = make(map[string]int64)
	}
	clear(c.deltas)
	sp := spaceOf(w.tx)
	rows := sp.sub(w.ix.number, keyRows)
	height := sampleHeight(id)
	var total, size int64
	for len(old) > 0 || len(now) > 0 {
		order := compareFirst(old, now)
		if order == 0 { // truncated values with one beginning are one entry
			old, now = old[1:], now[1:]
			continue
		}
		e, sign := entry{}, int64(1)
		if order < 0 {
			e, sign, old = old[0], -1, old[1:]
		} else {
			e, now = now[0], now[1:]
		}
		c.key = tuple.AppendString(append(append(c.key[:0], rows...), e.key...), id)
		c.value = rowValue(c.value[:0], e.value, e.truncated)
		if sign > 0 {
			tx.Set(c.key, c.value)
		} else {
			tx.Clear(c.key)
		}
		sp.setSamples(tx, w.ix.number, height, c.key[len(rows):], c.value, sign < 0)
		total += sign
		size += sign * int64(len(c.key)-len(rows)+len(c.value))
		c.value = e.countKey(c.value[:0])
		c.deltas[string(c.value)] += sign
	}
	counts := sp.sub(w.ix.number, keyCounts)
	for suffix, delta := range c.deltas {
		keyspace.AddCounter(tx, append(append(c.key[:0], counts...), suffix...), delta)
	}
	keyspace.AddCounter(tx, sp.total(w.ix.number, totalEntries), total)
	keyspace.AddCounter(tx, sp.total(w.ix.number, totalBytes), size)
}

// compareFirst says which of two sorted lists has the next key: negative for a, positive for b, 0 when
// both begin with the same one. A list that has ended comes after all keys of the other.
func compareFirst(a, b []entry) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return bytes.Compare(a[0].key, b[0].key)
}
