package storage

import (
	"bytes"
	"math"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/storage/revtree"
	"github.com/settee-db/settee/storage/tombstones"
)

// flush writes what the edits made of the document; where that equals what is stored it writes
// nothing, and takes no sequence. As in CouchDB, even a refused edit cuts the lines to a limit that
// was lowered, if it was not refused before the merge (editMode.checked); a purge does not.
// ErrPending of index comes before anything is written.
func (e *docEdit) flush(index IndexFunc) error {
	e.keepFlags()
	e.tree.Sort()
	inner, err := e.innerWrites()
	if err != nil {
		return err
	}
	if len(inner) == 0 && !e.leavesChanged() && !e.linesChanged() {
		return nil
	}
	if index != nil {
		if err := e.callIndex(index); err != nil {
			return err
		}
	}
	if err := e.keepReplaced(); err != nil {
		return err
	}
	for _, rev := range inner {
		w := e.writes[rev]
		n, err := e.newEntry(w)
		if err != nil {
			return err
		}
		e.putHistory(rev, w.doc.Deleted, &n)
	}
	if err := e.dropStemmed(); err != nil {
		return err
	}
	after, err := e.putLeaves()
	if err != nil {
		return err
	}
	e.putLists(after)
	return nil
}

// keepFlags makes stored leaves stay what they are, should the same revision have come again with
// another flag.
func (e *docEdit) keepFlags() {
	for i := range e.tree {
		if old := e.leafBefore(e.tree[i].Rev); old != nil {
			e.tree[i].Deleted = old.Deleted
		}
	}
}

func (w *revWrite) body() []byte {
	if len(w.doc.Body.JSON) == 0 {
		return formats.EmptyBody
	}
	return w.doc.Body.JSON
}

// leafBefore is the stored leaf of a revision, nil if there is none.
func (e *docEdit) leafBefore(rev compat.Rev) *formats.Leaf {
	if len(e.before) > formats.FewLeaves {
		if e.beforeAt == nil {
			e.beforeAt = make(map[compat.Rev]int, len(e.before))
			for i := range e.before {
				e.beforeAt[e.before[i].Rev] = i
			}
		}
		if i, ok := e.beforeAt[rev]; ok {
			return &e.before[i]
		}
		return nil
	}
	for i := range e.before {
		if e.before[i].Rev == rev {
			return &e.before[i]
		}
	}
	return nil
}

// leafNow is the index of a revision among the leaves after the edits, -1 if it is no leaf. It may
// only be used in flush, where the tree does not change any more: the index would not notice.
func (e *docEdit) leafNow(rev compat.Rev) int {
	if len(e.tree) <= formats.FewLeaves {
		return e.tree.Leaf(rev)
	}
	if e.treeAt == nil {
		e.treeAt = make(map[compat.Rev]int, len(e.tree))
		for i := range e.tree {
			e.treeAt[e.tree[i].Rev] = i
		}
	}
	if i, ok := e.treeAt[rev]; ok {
		return i
	}
	return -1
}

func (e *docEdit) leavesChanged() bool {
	return len(e.tree) != len(e.before) ||
		slices.ContainsFunc(e.tree, func(l revtree.Leaf) bool { return e.leafBefore(l.Rev) == nil })
}

// linesChanged reports whether the line of a leaf that stays has grown or was cut.
func (e *docEdit) linesChanged() bool {
	return slices.ContainsFunc(e.tree, func(l revtree.Leaf) bool {
		old := e.leafBefore(l.Rev)
		return old != nil && !old.Ancestors.Equal(l.Ancestors)
	})
}

// innerWrites are revisions that came with a body and are ancestors now: replaced by another edit
// of the same request, or stored so far without a body.
func (e *docEdit) innerWrites() ([]compat.Rev, error) {
	var inner []compat.Rev
	for rev := range e.writes {
		if e.leafNow(rev) >= 0 || e.tree.Find(rev) < 0 || e.leafBefore(rev) != nil {
			continue
		}
		value, err := e.t.R.Get(e.t.Keys.History(nil, e.id, rev))
		if err != nil {
			return nil, err
		}
		if value == nil {
			inner = append(inner, rev)
		}
	}
	slices.SortFunc(inner, compat.Rev.Compare)
	return inner, nil
}

// keepReplaced moves the bodies of leaves that are leaves no more to TagHistory.
func (e *docEdit) keepReplaced() error {
	for i := range e.before {
		l := &e.before[i]
		if e.leafNow(l.Rev) >= 0 {
			continue
		}
		old, err := e.stored(l)
		if err != nil {
			return err
		}
		if e.t.short || e.tree.Find(l.Rev) < 0 {
			e.t.release(old)
		} else {
			e.putHistory(l.Rev, l.Deleted, old)
		}
		e.clearLeaf(l)
	}
	return nil
}

// clearLeaf removes a leaf's record and entry.
func (e *docEdit) clearLeaf(l *formats.Leaf) {
	t := e.t
	t.clearLeafRecord(e.id, l)
	if l.Stored && l.Entry == nil {
		t.tx.Clear(t.Keys.Leaf(nil, keyspace.TagDocs, e.id, l.Deleted, l.Rev))
	}
	e.count(l, -1)
}

// count adds a leaf's sizes to the counters, or takes them off.
func (e *docEdit) count(l *formats.Leaf, sign int64) {
	e.t.stats[keyspace.ExternalSize] += sign * l.External
	e.t.stats[keyspace.ActiveSize] += sign * l.Active
	if p := e.t.partition(e.id); p != nil {
		p[keyspace.ExternalSize] += sign * l.External
		p[keyspace.ActiveSize] += sign * l.Active
	}
}

// putHistory stores the entry of a revision that is no leaf.
func (e *docEdit) putHistory(rev compat.Rev, deleted bool, entry *formats.Entry) {
	own := *entry
	own.Deleted = deleted
	key := e.t.Keys.History(nil, e.id, rev)
	if e.t.history(e.t.Rec.History).Seconds > 0 {
		own.Replaced, own.Held = e.t.now().UnixMilli(), e.held(rev, entry)
		e.t.tx.Set(e.t.replacedKey(own.Replaced, key), nil)
	}
	e.t.stats[keyspace.HistorySize] += e.t.setEntry(key, &own)
	e.t.stats[keyspace.HistoryRows]++
}

// dropStemmed removes the entries of ancestors that were cut off.
func (e *docEdit) dropStemmed() error {
	low, high := int64(math.MaxInt64), int64(-1) // depths at which something was
	var cut revtree.Tree
	for i := range e.before {
		l := &e.before[i]
		if e.keepsLine(l) {
			continue
		}
		if len(e.tree) != 1 {
			// a branch may keep a root although the line above another leaf was cut in between
			cut = append(cut, l.Leaf)
			continue
		}
		for pos := l.Start(); pos < l.Rev.Pos; pos++ {
			if e.tree[0].Has(compat.Rev{Pos: pos, Hash: l.Ancestors.At(int(l.Rev.Pos - 1 - pos))}) {
				break
			}
			low, high = min(low, pos), max(high, pos)
		}
	}
	if len(cut) > 0 {
		for _, rev := range e.tree.Missing(slices.Collect(cut.Ancestors())) {
			low, high = min(low, rev.Pos), max(high, rev.Pos)
		}
	}
	if high < low {
		return nil
	}
	prefix := e.t.Keys.Doc(nil, keyspace.TagHistory, e.id)
	return e.dropHistory(tuple.AppendInt(slices.Clone(prefix), low), tuple.AppendInt(prefix, high+1))
}

// keepsLine reports whether one line of the tree has all of a stored line.
func (e *docEdit) keepsLine(l *formats.Leaf) bool {
	n := e.leafNow(l.Rev)
	if n < 0 {
		n = e.tree.Find(l.Rev)
	}
	if n < 0 {
		return false
	}
	now := &e.tree[n]
	return now.Ancestors.From(int(now.Rev.Pos - l.Rev.Pos)).HasPrefix(l.Ancestors)
}

// dropHistory removes the entries in a range of the document's keys in TagHistory whose revisions
// the tree does not have.
func (e *docEdit) dropHistory(begin, end []byte) error {
	t := e.t
	prefix := len(t.Keys.Doc(nil, keyspace.TagHistory, e.id))
	gone, err := e.missingHistory(begin, end, prefix)
	if err != nil {
		return err
	}
	it := t.tx.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	var keys [][]byte
	var entries []*formats.Entry
	for it.Next() {
		rev, _, err := keyspace.ParseRevision(it.Key()[prefix:])
		if err != nil {
			return err
		}
		if gone == nil && e.tree.Find(rev) >= 0 || gone != nil && !gone[rev] {
			continue
		}
		old, err := formats.ParseEntry(it.Value())
		if err != nil {
			return err
		}
		old.Body = nil // the memory is the iterator's
		keys, entries = append(keys, bytes.Clone(it.Key())), append(entries, &old)
	}
	if err := it.Err(); err != nil {
		return err
	}
	if err := t.Complete(false, entries...); err != nil {
		return err
	}
	for i, old := range entries {
		t.forgetEntry(keys[i], old)
	}
	return nil
}

// missingHistory are the revisions with an entry in the range of TagHistory that the tree does not
// have; nil where the leaves are so few that each one may be looked for by itself.
func (e *docEdit) missingHistory(begin, end []byte, prefix int) (map[compat.Rev]bool, error) {
	if len(e.tree) <= formats.FewLeaves {
		return nil, nil
	}
	it := e.t.tx.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	var revs []compat.Rev
	for it.Next() {
		rev, _, err := keyspace.ParseRevision(it.Key()[prefix:])
		if err != nil {
			return nil, err
		}
		revs = append(revs, rev)
	}
	gone := make(map[compat.Rev]bool)
	for _, rev := range e.tree.Missing(revs) {
		gone[rev] = true
	}
	return gone, it.Err()
}

// forgetEntry removes an entry of TagHistory that was read in the transaction.
func (t *dbTx) forgetEntry(key []byte, old *formats.Entry) {
	t.release(old)
	t.tx.Clear(key)
	if old.Replaced != 0 {
		t.tx.Clear(t.replacedKey(old.Replaced, key))
	}
	t.stats[keyspace.HistorySize] -= old.Size
	t.stats[keyspace.HistoryRows]--
}

// putLeaves writes the leaves and returns them, the winner first.
func (e *docEdit) putLeaves() ([]formats.Leaf, error) {
	t := e.t
	after := make([]formats.Leaf, len(e.tree))
	for i := range after {
		after[i].Leaf, after[i].Winner = e.tree[i], i == 0
	}
	if t.Rec.Access.On && len(after) > 0 {
		readersOf(e).name(after)
	}
	for i := range after {
		l := &after[i]
		old := e.leafBefore(l.Rev)
		if old != nil {
			l.Stored, l.External, l.Active, l.Entry = old.Stored, old.External, old.Active, old.Entry
			e.keepBeside(l)
		} else if err := e.putBody(l); err != nil {
			return nil, err
		}
		if !l.Winner && old != nil && !old.Winner && old.Ancestors.Equal(l.Ancestors) {
			continue
		}
		if l.Winner {
			l.Seq = t.nextSeq()
		}
		t.putLeaf(e.id, l, old)
	}
	return after, nil
}

// keepBeside moves the entry of a leaf, unless that is the winner, and it is short, from its record
// to TagDocs.
func (e *docEdit) keepBeside(l *formats.Leaf) {
	if l.Entry != nil && !(l.Winner && formats.EntryTag(l.Kilobytes()) == keyspace.TagRevs) {
		e.t.tx.Set(e.t.Keys.Leaf(nil, keyspace.TagDocs, e.id, l.Deleted, l.Rev), l.Entry)
		l.Entry = nil
	}
}

// putBody stores a new leaf's body and attachments; the entry stays in the record where it may, in
// memory that the next entry takes.
func (e *docEdit) putBody(l *formats.Leaf) error {
	w := e.writes[l.Rev]
	l.External = externalSize(w.doc.Body.Size, w.atts)
	var size int64
	if l.Stored = !l.Deleted || len(w.atts) > 0 || !bytes.Equal(w.body(), formats.EmptyBody); l.Stored {
		n, err := e.newEntry(w)
		if err != nil {
			return err
		}
		l.Entry, size = e.t.encodeEntry(&n)
	}
	l.Active = size + int64(l.Ancestors.Len())*16 + attachmentBytes(w.atts)
	e.keepBeside(l)
	e.count(l, 1)
	return nil
}

// externalSize is what a leaf adds to the external size of a database.
func externalSize(body int64, atts []compat.Attachment) int64 {
	return max(body, int64(len(formats.EmptyBody))) + attachmentBytes(atts)
}

func attachmentBytes(atts []compat.Attachment) int64 {
	var n int64
	for i := range atts {
		n += max(atts[i].EncodedLength, 0)
	}
	return n
}

// putLists writes what lists and feeds show of the document: TagAllDocs, TagChanges and the counts
// of documents. after is empty if all leaves were purged.
func (e *docEdit) putLists(after []formats.Leaf) {
	t := e.t
	var wasLive, isLive, wasDeleted, isDeleted int64
	if n := len(e.before); n > 0 {
		t.removeChange(e.before[n-1].Seq)
		wasLive = 1
		if e.deletedBefore() {
			wasLive, wasDeleted = 0, 1
			tombstones.Index{Keys: t.Keys}.Remove(t.tx, e.before[n-1].Seq)
		}
	}
	if len(after) > 0 {
		winner := &after[0]
		isLive = 1
		if winner.Deleted {
			isLive, isDeleted = 0, 1
			tombstones.Index{Keys: t.Keys}.Add(t.tx, winner.Seq, e.id)
		}
		row := formats.Change{
			ID: e.id, Winner: winner.Rev, Deleted: winner.Deleted, Leaves: len(after), Kilobytes: winner.Kilobytes(),
		}
		t.addChange(winner.Seq, row.Encode(nil))
		if isLive == 1 {
			t.tx.Set(t.Keys.AllDocs(nil, e.id), formats.EncodeListed(nil, winner.Rev, row.Kilobytes))
		}
	}
	if wasLive == 1 && isLive == 0 {
		t.tx.Clear(t.Keys.AllDocs(nil, e.id))
	}
	if compat.IsDesignID(e.id) && wasLive+isLive > 0 {
		t.stampDesigns()
	}
	if t.Rec.Access.On {
		readersOf(e).put(after)
	}
	t.counted.List(e.id, isLive-wasLive)
	t.stats[keyspace.DocCount] += isLive - wasLive
	t.stats[keyspace.DelCount] += isDeleted - wasDeleted
	if p := t.partition(e.id); p != nil {
		p[keyspace.DocCount] += isLive - wasLive
		p[keyspace.DelCount] += isDeleted - wasDeleted
	}
}

// callIndex tells the index function about the winner before and after.
func (e *docEdit) callIndex(index IndexFunc) error {
	var was, is *docread.Document
	if n := len(e.before); n > 0 && !e.deletedBefore() {
		l := &e.before[n-1]
		old, err := e.storedWhole(l)
		if err != nil {
			return err
		}
		was = docread.NewDocument(e.id, l.Rev, false, *old)
	}
	if len(e.tree) > 0 && !e.tree[0].Deleted {
		l := &e.tree[0]
		if w := e.writes[l.Rev]; w != nil && e.leafBefore(l.Rev) == nil {
			is = &docread.Document{ID: e.id, Rev: l.Rev, Body: w.body(), Attachments: w.atts}
		} else {
			old, err := e.storedWhole(e.leafBefore(l.Rev))
			if err != nil {
				return err
			}
			is = docread.NewDocument(e.id, l.Rev, false, *old)
		}
	}
	if was == nil && is == nil {
		return nil
	}
	if is != nil && len(e.tree) > 1 {
		leaves := make([]formats.Leaf, len(e.tree))
		for i := range leaves { // the winner comes last
			l := &leaves[len(leaves)-1-i]
			l.Leaf, l.Access = e.tree[i], readersOf(e).of(e.tree[i].Rev)
		}
		is.AddConflicts(leaves, true, true)
	}
	return index(e.t.Ctx, &Tx{e.t}, e.id, was, is)
}

// putLeaf writes a leaf's record; before is the one that the key has so far, nil if there is none.
func (t *dbTx) putLeaf(id string, l, before *formats.Leaf) {
	key := t.Keys.Leaf(nil, keyspace.TagRevs, id, l.Deleted, l.Rev)
	value := l.Encode(t.leafScratch[:0])
	t.leafScratch = value[:0]
	if before != nil && before.Long {
		t.tx.ClearRange(keyspace.Children(key))
	}
	first := value[:min(len(value), keyspace.MaxValue)]
	if len(first) < len(value) {
		first[1] |= formats.LeafLong
		t.putChunks(key, value[len(first):])
	}
	if l.Winner {
		t.tx.SetVersionstampedValue(key, first, formats.LeafSeqOffset)
	} else {
		t.tx.Set(key, first)
	}
}

// clearLeafRecord removes a leaf's record.
func (t *dbTx) clearLeafRecord(id string, l *formats.Leaf) {
	key := t.Keys.Leaf(nil, keyspace.TagRevs, id, l.Deleted, l.Rev)
	if l.Long {
		t.tx.ClearRange(keyspace.Children(key))
	} else {
		t.tx.Clear(key)
	}
}
