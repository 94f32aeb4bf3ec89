package storage

import (
	"errors"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/revtree"
	"github.com/settee-db/settee/storage/room"
)

// editWindow is how many documents of a batch are read together: their reads overlap on a store
// across a network, and a thousand take few round trips.
const editWindow = 192

// maxWindowBytes bounds the bodies, old and new, of the documents that are read together where the
// store has no limit of its own.
const maxWindowBytes = 16 << 20

// batch is one run of the transaction that stores some documents of a request.
type batch struct {
	db      *DB
	t       *dbTx
	mode    editMode
	index   IndexFunc
	docs    []*compat.Document
	results []EditResult
	done    int // groups that were dealt with
	// those of them that lack results of deferred callbacks: nothing was written of them
	lacking []int
	indexed int64           // bytes of memory that indexes take of the documents until the commit
	full    map[string]bool // partitions at their limit, by name; false: looked up and not full
	edits   []docEdit       // of a window, used again for the next one
	asked   *editReads      // of the first window
	window  int             // documents of the next one
}

// store edits the documents of groups, the first of them if the transaction grows large.
//
// On a store across a network what every transaction reads takes two round trips: the database's
// record, and then all else that can be known to be needed.
func (b *batch) store(groups []editGroup) (err error) {
	b.window = editWindow
	if b.asked, err = b.ask(groups[:min(len(groups), b.window)], true); err != nil {
		return err
	}
	defer func() {
		if b.asked != nil {
			b.asked.leaves.close()
		}
	}()
	if err := b.prepare(); err != nil {
		return err
	}
	for _, g := range groups {
		for _, i := range g.edits {
			if text := b.docs[i].Body.JSON; b.index != nil {
				b.indexed += room.OfText(text)
			}
		}
	}
	for b.done < len(groups) && !(b.done > 0 && b.large()) {
		if err := b.run(groups[b.done:min(b.done+b.window, len(groups))]); err != nil {
			return err
		}
		if b.db.store.limits.TransactionSize > 0 {
			if err := b.t.runBeforeCommit(); err != nil {
				return err
			}
		}
	}
	return nil
}

// storedOf are the results of the edits of groups that were stored.
func (b *batch) storedOf(groups []editGroup) (list []EditResult) {
	for n, g := range groups[:b.done] {
		if slices.Contains(b.lacking, n) {
			continue
		}
		for _, i := range g.edits {
			if b.results[i].Err == nil {
				list = append(list, b.results[i])
			}
		}
	}
	return list
}

// large reports whether the transaction has taken half of what the store allows: the other half is
// for what one more document brings.
func (b *batch) large() bool {
	limit := b.db.store.limits.TransactionSize
	return limit > 0 && b.t.tx.Size() > limit/2
}

// prepare asks the hooks for what is in force.
func (b *batch) prepare() (err error) {
	if b.mode.shared && b.t.Rec.Access.On { // edits are held to who makes them
		return errApart
	}
	hooks := &b.db.store.hooks
	if hooks.Validator != nil && !b.mode.trusted {
		if b.mode.each, err = hooks.Validator.Prepare(b.t.Ctx, &Tx{b.t}); err != nil {
			return err
		}
		if v, ok := hooks.Validator.(BatchValidator); ok {
			if b.mode.many, err = v.PrepareBatch(b.t.Ctx, &Tx{b.t}); err != nil {
				return err
			}
		}
		b.mode.checked = b.mode.checked || b.mode.each != nil || b.mode.many != nil
		if b.mode.shared && b.mode.each != nil { // the hooks may look at the writer in the context
			return errApart
		}
	}
	if hooks.Indexer != nil {
		b.index, err = hooks.Indexer.Prepare(b.t.Ctx, &Tx{b.t})
	}
	return err
}

// run edits the documents of a window, the first of them if they are large, and counts them.
func (b *batch) run(groups []editGroup) error {
	groups, err := b.load(groups)
	if err != nil {
		return err
	}
	edits := b.edits[:len(groups)]
	if err := b.checkUnwritten(groups, edits); err != nil {
		return err
	}
	first, err := b.validateFirst(groups, edits)
	if err != nil {
		return err
	}
	for n, g := range groups {
		if n > 0 && b.large() {
			return nil
		}
		e := &edits[n]
		err := b.edit(g, e, first[n:n+1:n+1])
		switch {
		case errors.Is(err, ErrPending):
			b.lacking = append(b.lacking, b.done)
			if compat.IsDesignID(g.id) { // an index may be half made
				return errPending
			}
		case err != nil:
			return err
		}
		b.done++
	}
	return nil
}

// checkUnwritten finds out whether edits are checked because of what the database was last written
// with, where that makes a difference: for edits of unknown revisions, several edits of one
// document, replicated revisions that are known, and where a refused edit would cut a line.
func (b *batch) checkUnwritten(groups []editGroup, edits []docEdit) error {
	if b.mode.checked {
		return nil
	}
	long := func(l revtree.Leaf) bool { return int64(l.Ancestors.Len()) >= b.t.Rec.RevsLimit }
	for n, g := range groups {
		e := &edits[n]
		var matters bool
		if b.mode.replicated {
			matters = slices.ContainsFunc(g.edits, func(i int) bool { return e.tree.Find(b.docs[i].Rev()) >= 0 })
		} else {
			matters = len(g.edits) > 1 || slices.ContainsFunc(e.tree, long) ||
				len(e.before) == 0 && len(b.docs[g.edits[0]].Revs.IDs) > 0
		}
		if matters {
			written, err := b.t.written()
			b.mode.checked = !written
			return err
		}
	}
	return nil
}

// edit makes the edits of one document, of which checked has the first one, validated. ErrPending:
// some lack a result, and nothing was written.
func (b *batch) edit(g editGroup, e *docEdit, checked []validatedEdit) (err error) {
	if e.partitionFull, err = b.partitionFull(g.id); err != nil {
		return err
	}
	pending := checked[0].pending
	for _, i := range g.edits[1:] {
		v, err := b.validateNext(e, b.docs[i])
		if err != nil {
			return err
		}
		checked = append(checked, *v)
		pending = pending || v.pending
	}
	if pending {
		return ErrPending
	}
	decided := true // nothing comes to couch_db_updater, which cuts the lines
	for k, i := range g.edits {
		decided = decided && checked[k].decided
		if b.results[i], err = e.apply(&b.mode, b.docs[i], &checked[k]); err != nil {
			return err
		}
	}
	if decided {
		return nil
	}
	e.tree = revtree.Stem(e.tree, b.t.Rec.RevsLimit)
	return e.flush(b.index)
}

// validateFirst checks the first edit of each document of a window, all at once.
func (b *batch) validateFirst(groups []editGroup, edits []docEdit) ([]validatedEdit, error) {
	checked := make([]validatedEdit, len(groups))
	docs, views := make([]*compat.Document, len(groups)), make([]*validatedEdit, len(groups))
	for n, g := range groups {
		doc := b.docs[g.edits[0]]
		var err error
		if checked[n], err = edits[n].check(&b.mode, doc); err != nil {
			return nil, err
		}
		docs[n], views[n] = doc, &checked[n]
	}
	return checked, b.mode.validate(docs, views)
}

func (b *batch) validateNext(e *docEdit, doc *compat.Document) (*validatedEdit, error) {
	v, err := e.check(&b.mode, doc)
	if err != nil {
		return nil, err
	}
	return &v, b.mode.validate([]*compat.Document{doc}, []*validatedEdit{&v})
}

// editReads are the reads for the documents of a window, which are begun together.
type editReads struct {
	leaves *leafWindow
	// entries are values by their keys in TagDocs, of the revisions that large edits say they
	// replace: those of small ones are in the leaves. An edit that says a wrong one reads in vain.
	entries map[string][]byte
}

// ask asks for what the edits of groups are going to need; with head also for what the hooks are.
func (b *batch) ask(groups []editGroup, head bool) (*editReads, error) {
	reads := &editReads{leaves: b.t.askLeaves(groups)}
	var keys [][]byte
	for _, g := range groups {
		for _, i := range g.edits[:1] {
			doc := b.docs[i]
			if rev := parentOf(doc, b.mode.replicated); !rev.IsZero() && doc.Body.Size >= formats.BesideKilobytes<<10 {
				keys = append(keys, b.t.Keys.Leaf(nil, keyspace.TagDocs, g.id, false, rev))
			}
		}
	}
	guessed := len(keys)
	if head {
		keys = b.t.appendHead(keys, &b.db.store.hooks, b.mode.trusted)
	}
	values, err := b.t.R.GetMany(keys)
	if err != nil {
		reads.leaves.close()
		return nil, err
	}
	reads.entries = make(map[string][]byte, guessed)
	for n, key := range keys {
		if n < guessed {
			reads.entries[string(key)] = values[n]
		} else {
			b.t.head[string(key)] = values[n]
		}
	}
	return reads, nil
}

// load reads the leaves of all documents, and then the entries of those leaves that are going to be
// replaced. It leaves out the last documents where that would be much at once.
func (b *batch) load(groups []editGroup) ([]editGroup, error) {
	reads, err := b.asked, error(nil)
	if b.asked = nil; reads == nil {
		if reads, err = b.ask(groups, false); err != nil {
			return nil, err
		}
	}
	all, err := reads.leaves.read(b.t)
	if err != nil {
		return nil, err
	}
	if len(b.edits) < len(groups) {
		b.edits = make([]docEdit, len(groups))
	}
	var wanted []*formats.Leaf
	var owners []*docEdit
	// What is read goes into memory, what is written into the transaction: both grow with the
	// window, so one budget bounds them. The first document is always taken, however large.
	budget := int64(maxWindowBytes)
	if limit := b.db.store.limits.TransactionSize; limit > 0 {
		budget = int64(limit / 4)
	}
	for n, g := range groups {
		leaves := all[n]
		first := len(wanted)
		for _, i := range g.edits {
			b.mode.supersede(b.t, b.docs[i], leaves)
			if b.t.large.of(b.docs[i]) == nil {
				budget -= int64(len(b.docs[i].Body.JSON))
			}
			if l := replacedBy(leaves, b.docs[i], b.mode.replicated); l != nil && l.Stored {
				wanted, owners = append(wanted, l), append(owners, &b.edits[n])
				if b.index != nil {
					b.indexed += room.OfStored(l.External)
				}
				if b.index != nil || b.mode.validates() {
					budget -= l.External
				} else { // a body that is stored apart is not moved
					budget -= min(l.External, formats.MaxInline)
				}
			}
		}
		if n > 0 && budget < 0 {
			groups, wanted, owners = groups[:n], wanted[:first], owners[:first]
			b.window = min(b.window, 2*n) // what is read of the others is read again
			break
		}
		b.edits[n].start(g.id, b.t, leaves)
	}
	if b.mode.shared && b.indexed > room.Shared {
		return nil, errApart
	}
	if d := b.t.deferred; d != nil && !d.room.Fits(b.indexed) {
		return nil, errPending
	}
	if err := b.t.blobs.LookUp(b.uploaded(groups)...); err != nil {
		return nil, err
	}
	return groups, b.loadEntries(reads, wanted, owners)
}

// uploaded are the ids of what was uploaded for the documents: attachments and large bodies.
func (b *batch) uploaded(groups []editGroup) (refs []string) {
	for _, g := range groups {
		for _, i := range g.edits {
			doc := b.docs[i]
			for a := range doc.Attachments {
				if doc.Attachments[a].Ref != "" {
					refs = append(refs, doc.Attachments[a].Ref)
				}
			}
			if body := b.t.large.of(doc); body != nil {
				refs = append(refs, body.Ref)
			}
		}
	}
	return refs
}

// replacedBy guesses the stored leaf that an edit replaces; nil is always right, and only costs a
// later read.
func replacedBy(leaves []formats.Leaf, doc *compat.Document, replicated bool) *formats.Leaf {
	parent := parentOf(doc, replicated)
	if parent.IsZero() {
		return nil
	}
	for i := range leaves {
		if leaves[i].Rev == parent {
			return &leaves[i]
		}
	}
	return nil
}

// parentOf is the revision that an edit says it replaces, zero if it says none.
func parentOf(doc *compat.Document, replicated bool) compat.Rev {
	ids, pos := doc.Revs.IDs, doc.Revs.Start
	if replicated && len(ids) > 0 {
		ids, pos = ids[1:], pos-1
	}
	if len(ids) == 0 {
		return compat.Rev{}
	}
	return compat.Rev{Pos: pos, Hash: ids[0]}
}

// loadEntries reads the entries of leaves together, those that were not read with the leaves, and
// the bodies that are apart where hooks are going to see them.
func (b *batch) loadEntries(reads *editReads, leaves []*formats.Leaf, owners []*docEdit) error {
	if len(leaves) == 0 {
		return nil
	}
	values := make([][]byte, len(leaves))
	var keys [][]byte
	var at []int
	for i, l := range leaves {
		if values[i] = l.Entry; l.Entry != nil {
			continue
		}
		key := b.t.Keys.Leaf(nil, keyspace.TagDocs, owners[i].id, l.Deleted, l.Rev)
		if values[i] = reads.entries[string(key)]; values[i] == nil {
			keys, at = append(keys, key), append(at, i)
		}
	}
	if len(keys) > 0 {
		found, err := b.t.R.GetMany(keys)
		if err != nil {
			return err
		}
		for n, i := range at {
			values[i] = found[n]
		}
	}
	entries := make([]*formats.Entry, len(leaves))
	for i, l := range leaves {
		if values[i] == nil {
			return keyspace.Corrupt("leaf without its entry", nil)
		}
		e, err := formats.ParseEntry(values[i])
		if err != nil {
			return err
		}
		owners[i].remember(l.Rev, &e)
		entries[i] = &e
	}
	return b.t.Complete(b.index != nil || b.mode.validates(), entries...)
}

// partitionFull reports whether the document's partition has reached couchdb/max_partition_size.
// The size is read without a conflict: CouchDB, too, lets the writes through that cross the limit.
func (b *batch) partitionFull(id string) (bool, error) {
	limit := b.db.store.hooks.MaxPartitionSize
	if limit == nil || !b.t.Rec.Partitioned || b.mode.replicated {
		return false, nil
	}
	name, ok := keyspace.PartitionOf(id)
	size := limit()
	if !ok || size <= 0 {
		return false, nil
	}
	full, known := b.full[name]
	if known {
		return full, nil
	}
	sizes, err := keyspace.ReadCounters(b.t.R.Snapshot(), [][]byte{b.t.Keys.PartStat(nil, name, keyspace.ExternalSize)})
	if err != nil {
		return false, err
	}
	if b.full == nil {
		b.full = make(map[string]bool)
	}
	b.full[name] = sizes[0] >= size
	return b.full[name], nil
}
