package views

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/views/large"
	"github.com/settee-db/settee/views/levels"
	"github.com/settee-db/settee/views/reduce"
)

// Interactive indexes change in the transactions of their documents. One key lists them, so that
// such a transaction knows with one read what to do, and so that a new index conflicts with it.

// interactiveEntry is one interactive index: all that a document's transaction needs.
type interactiveEntry struct {
	signature Signature
	def       definition
	record    indexRecord // without sequences
	owners    []string    // ids of the design documents that have it
}

// interactiveList is the value of (interactive). Format: format byte, then for each index:
// signature, flags, language, source, options, lib, record, owners (count, texts).
type interactiveList []interactiveEntry

func (l interactiveList) find(signature Signature) int {
	return slices.IndexFunc(l, func(e interactiveEntry) bool { return e.signature == signature })
}

// encode returns the list as it is stored. Equal lists have equal bytes: register and release
// compare them, so that a design document that changes nothing here does not write the key that
// all writers of documents read.
func (l interactiveList) encode() []byte {
	dst := []byte{formatVersion}
	for i := range l {
		e := &l[i]
		var flags byte
		for bit, set := range [...]bool{
			e.def.raw, e.def.partitioned, e.def.localSeq, e.def.withDesign, e.def.byPrincipal,
		} {
			if set {
				flags |= 1 << bit
			}
		}
		dst = append(append(dst, e.signature[:]...), flags)
		def := e.def
		for _, text := range [...]string{def.language, def.source, def.options, def.lib, string(e.record.encode())} {
			dst = packed.AppendText(dst, text)
		}
		dst = binary.AppendUvarint(dst, uint64(len(e.owners)))
		for _, owner := range e.owners {
			dst = packed.AppendText(dst, owner)
		}
	}
	return dst
}

// parseInteractive reads the stored list; nil is an empty one. A list of another format is empty
// as well, since none of its indexes could be read. Bytes that no code of ours writes are
// kv.ErrCorrupt.
func parseInteractive(b []byte) (interactiveList, error) {
	if b == nil {
		return nil, nil
	}
	p := parser{packed.Reader{B: b}}
	if p.Byte() != formatVersion {
		return nil, nil
	}
	var list interactiveList
	for len(p.B) > 0 && !p.Bad {
		var e interactiveEntry
		copy(e.signature[:], p.Take(len(e.signature)))
		flags := p.Byte()
		e.def = definition{
			signature:   e.signature,
			interactive: true,
			raw:         flags&1 != 0,
			partitioned: flags&2 != 0,
			localSeq:    flags&4 != 0,
			withDesign:  flags&8 != 0,
			byPrincipal: flags&16 != 0,
		}
		e.def.language, e.def.source, e.def.options, e.def.lib = p.Text(), p.Text(), p.Text(), p.Text()
		stored := p.Bytes()
		if p.Bad {
			break
		}
		var err error
		if e.record, _, err = parseRecord(stored); err != nil {
			return nil, err
		}
		for n := p.Uvarint(); n > 0 && !p.Bad; n-- {
			e.owners = append(e.owners, p.Text())
		}
		list = append(list, e)
	}
	if p.Bad {
		return nil, corrupt("list of interactive indexes")
	}
	return list, nil
}

func readInteractive(r kv.ReadTx, sp space) (interactiveList, error) {
	list, _, err := readStoredList(r, sp)
	return list, err
}

// readStoredList gives the list with what its key has.
func readStoredList(r kv.ReadTx, sp space) (list interactiveList, stored []byte, err error) {
	key := sp.sub(nil, keyInteractive)
	if stored, err = r.Get(key); err != nil {
		return nil, nil, err
	}
	value, err := large.Read(r, key, stored)
	if err != nil {
		return nil, nil, err
	}
	list, err = parseInteractive(value)
	return list, stored, err
}

// registerInteractive notes interactive indexes where the documents' transactions look for them.
func registerInteractive(tx *storage.Tx, d *design, indexes []*index) error {
	if !d.interactive || len(indexes) == 0 {
		return nil
	}
	sp := spaceOf(tx.Snapshot())
	list, stored, err := readStoredList(tx.KV(), sp)
	if err != nil {
		return err
	}
	before := list.encode()
	for _, ix := range indexes {
		at := list.find(ix.def.signature)
		if at < 0 {
			at = len(list)
			list = append(list, interactiveEntry{signature: ix.def.signature, def: *ix.def})
		}
		e := &list[at]
		e.record = ix.rec
		e.record.seq, e.record.ready = storage.Seq{}, false
		if !slices.Contains(e.owners, d.id) {
			e.owners = append(e.owners, d.id)
		}
	}
	if after := list.encode(); !bytes.Equal(before, after) {
		large.Put(tx.KV(), sp.sub(nil, keyInteractive), stored, after)
	}
	return nil
}

// releaseInteractive takes a design document off the interactive indexes that it does not have any
// more; those without owner go.
func releaseInteractive(tx *storage.Tx, id string, d *design) error {
	sp := spaceOf(tx.Snapshot())
	list, stored, err := readStoredList(tx.KV(), sp)
	if err != nil {
		return err
	}
	var kept interactiveList
	for _, e := range list {
		if slices.Contains(e.owners, id) && (d == nil || !d.has(e.signature)) {
			e.owners = slices.DeleteFunc(slices.Clone(e.owners), func(owner string) bool { return owner == id })
			if len(e.owners) == 0 {
				if err := dropIndex(tx.KV(), sp, e.signature); err != nil {
					return err
				}
				continue
			}
		}
		kept = append(kept, e)
	}
	key := sp.sub(nil, keyInteractive)
	switch {
	case len(kept) == 0 && len(list) > 0:
		large.Clear(tx.KV(), key)
	case !bytes.Equal(kept.encode(), list.encode()):
		large.Put(tx.KV(), key, stored, kept.encode())
	}
	return nil
}

// Prepare is storage.Indexer's: it reads which interactive indexes there are.
func (v *Views) Prepare(_ context.Context, tx *storage.Tx) (storage.IndexFunc, error) {
	list, err := readInteractive(tx.Head(), spaceOf(tx.Snapshot()))
	if err != nil || len(list) == 0 && !tx.ChangesDesigns() {
		return nil, err
	}
	u := &interactiveUpdate{v: v, list: list}
	return u.add, nil
}

// AppendHead implements storage.HeadIndexer.
func (v *Views) AppendHead(keys [][]byte, tx *storage.Tx) [][]byte {
	return append(keys, spaceOf(tx.Snapshot()).sub(nil, keyInteractive))
}

// Fold implements storage.FoldIndexer: it takes what writers have logged into the levels of the
// interactive indexes.
func (v *Views) Fold(ctx context.Context, db *storage.DB) error {
	return foldIndexes(ctx, db, v.aggregates.levels, (*levels.Index).Fold)
}

// Moved prepares the indexes of a database for a store whose versionstamps may be lower than those
// in it. No Views need be open.
func Moved(ctx context.Context, db *storage.DB) error {
	ranks := func(ix *index) (*levels.Index, error) {
		return newLevels(ix, 0, func(source string) (reduce.Func, error) {
			return reduce.New(source, reduce.Options{JavaScript: reducer{}}) // folding calls none
		})
	}
	return foldIndexes(ctx, db, ranks, (*levels.Index).FoldAll)
}

// foldIndexes calls fold for all interactive indexes of a database that log, as often as something
// is left.
func foldIndexes(
	ctx context.Context,
	db *storage.DB,
	levelsOf func(*index) (*levels.Index, error),
	fold func(x *levels.Index, tx kv.Tx) (more bool, err error),
) error {
	var list interactiveList
	var sp space
	if err := db.ViewAgain(kv.WithPrefetch(ctx, "fold"), func(s *storage.Snapshot) (err error) {
		sp = spaceOf(s)
		list, err = readInteractive(s.KV(), sp)
		return err
	}); err != nil {
		return err
	}
	for i := range list {
		e := &list[i]
		ix := &index{def: &e.def, keys: sp.keysOf(e.record.number), rec: e.record, tenant: db.Name()}
		x, err := levelsOf(ix)
		if err != nil || !x.Logged {
			continue
		}
		for more := true; more; {
			if err := db.Transact(ctx, func(tx *storage.Tx) error {
				now, err := readInteractive(tx.KV(), sp)
				if at := now.find(e.signature); err != nil || at < 0 || now[at].record.number != e.record.number {
					more = false // the index is gone, and nothing of it may stay
					return err
				}
				more, err = fold(x, tx.KV())
				return err
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// designChanged makes and removes interactive indexes.
func (v *Views) designChanged(tx *storage.Tx, id string, before, after *docread.Document) error {
	var d *design
	if after != nil {
		var err error
		if d, err = parseDocument(after, kindOf(tx.Snapshot())); err != nil {
			return err
		}
	}
	if before != nil {
		if err := releaseInteractive(tx, id, d); err != nil {
			return err
		}
	}
	if d == nil || !d.interactive {
		return nil
	}
	for _, d := range d.each() {
		if err := v.createIn(tx, d); err != nil {
			return err
		}
		if err := v.queueBuild(tx.KV(), tx.Name(), d); err != nil {
			return err
		}
	}
	return nil
}
