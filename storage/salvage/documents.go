package salvage

import (
	"bytes"
	"crypto/md5"
	"errors"
	"io"
	"math/big"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/kv/tuple"
)

const (
	// A batch of revisions is written when it has this many of them or this many bytes, whichever
	// comes first: one write each would be slow, and one for all would hold the database in memory.
	salvageDocs  = 500
	salvageBytes = 4 << 20
)

// documents brings back the documents that the changes feed names, in its order.
func (w *work) documents(d *docread.Reader) error {
	prefix := d.Keys.Sub(nil, keyspace.TagChanges)
	begin, end := keyspace.Children(prefix)
	it := d.R.Range(begin, end, kv.RangeOptions{})
	defer it.Close()
	for it.Next() {
		c, err := formats.ParseChange(it.Value())
		if err != nil || c.ID == "" {
			w.lost("", compat.Rev{}, "a row of the changes feed cannot be read")
			continue
		}
		if err := w.document(d, c.ID, c.Winner); err != nil {
			return err
		}
	}
	return errors.Join(it.Err(), w.flush())
}

// otherDocuments brings back those that the feed has lost.
func (w *work) otherDocuments(d *docread.Reader) error {
	tags := [...]keyspace.Tag{keyspace.TagRevs, keyspace.TagDocs, keyspace.TagHistory, keyspace.TagAllDocs}
	var streams [len(tags)]*docread.IDStream
	// Any one of the four may be what is left of a document.
	for i, tag := range tags {
		streams[i] = d.IDs(tag, "", false)
		defer streams[i].Close()
		if err := w.nextID(streams[i]); err != nil {
			return err
		}
	}
	for {
		var first *docread.IDStream
		for _, s := range streams {
			if s.OK && (first == nil || s.ID < first.ID) {
				first = s
			}
		}
		if first == nil {
			return w.flush()
		}
		id := first.ID
		// All streams go past the id before it is read: they stand on the same snapshot, and an id
		// that comes again would be brought back twice.
		for _, s := range streams {
			for s.OK && s.ID == id {
				if err := w.nextID(s); err != nil {
					return err
				}
			}
		}
		listed, err := w.inFeed(d, id)
		if err == nil && !listed {
			err = w.document(d, id, compat.Rev{})
		}
		if err != nil {
			return err
		}
	}
}

// nextID goes to the next document; keys that cannot be read are told and passed over.
func (w *work) nextID(s *docread.IDStream) error {
	err := s.Next()
	for errors.Is(err, kv.ErrCorrupt) {
		w.lost("", compat.Rev{}, "a key cannot be read")
		err = s.Next()
	}
	return err
}

// inFeed reports whether documents has dealt with a document.
func (w *work) inFeed(d *docread.Reader, id string) (bool, error) {
	doc, err := w.read(d, id)
	if err != nil {
		return false, err
	}
	n := len(doc.leaves)
	if n == 0 || !doc.leaves[n-1].Winner {
		return w.restored(id)
	}
	winner := &doc.leaves[n-1]
	// The feed was read from its rows: where the row of the winner is whole, the document was met
	// there.
	value, err := d.R.Get(d.Keys.SeqKey(nil, keyspace.TagChanges, winner.Seq))
	if err != nil || value == nil {
		return false, err
	}
	c, err := formats.ParseChange(value)
	return err == nil && c.ID == id, nil
}

// restored reports whether the new database has a document.
func (w *work) restored(id string) (found bool, err error) {
	if err := w.flush(); err != nil {
		return false, err
	}
	err = w.db.ViewAgain(w.ctx, func(s *storage.Snapshot) error {
		_, err := s.Open(id, docread.OpenOptions{Deleted: true, Members: docread.NoMembers})
		if found = err == nil; errors.Is(err, compat.ErrMissing) {
			return nil
		}
		return err
	})
	return found, err
}

// damagedDoc is what is left of a document.
type damagedDoc struct {
	id      string
	leaves  []formats.Leaf               // as far as they are whole
	lines   map[compat.Rev]bool          // of leaves whose line of ancestors is lost: true
	entries map[compat.Rev][]byte        // of leaves
	deleted map[compat.Rev]bool          // leaves that are tombstones
	history map[compat.Rev]bool          // replaced revisions with an entry; true: it is kept for a time
	back    map[compat.Rev]struct{}      // what was brought back
	atts    map[string]compat.Attachment // as they are stored now, by their Ref in the damaged store
}

// read collects all that is there of a document, whatever fits together of it: leaves with their
// lines, entries without a leaf, replaced revisions. Damage in one row costs that row.
func (w *work) read(d *docread.Reader, id string) (*damagedDoc, error) {
	doc := &damagedDoc{
		id:      id,
		lines:   map[compat.Rev]bool{},
		entries: map[compat.Rev][]byte{},
		deleted: map[compat.Rev]bool{},
		history: map[compat.Rev]bool{},
		back:    map[compat.Rev]struct{}{},
		atts:    map[string]compat.Attachment{},
	}
	var r formats.LeafReader
	err := rowsOf(d, keyspace.TagRevs, id, func(suffix, value []byte) {
		if deleted, rev, rest, err := keyspace.ParseLeafKey(suffix); err == nil && len(rest) == 0 {
			doc.deleted[rev], doc.lines[rev] = deleted, true
			if l, _, err := formats.ParseLeafValue(value); err == nil && l.Entry != nil {
				doc.entries[rev] = bytes.Clone(l.Entry)
			}
		}
		if err := r.Add(suffix, value); err != nil {
			r.Drop()
			_ = r.Add(suffix, value) // the error was of the row before, or comes again: then its line is lost
			return
		}
	})
	if err != nil {
		return nil, err
	}
	_ = r.End() // an error: the line of the last leaf is lost
	for _, l := range r.Leaves {
		doc.lines[l.Rev] = false
		doc.leaves = append(doc.leaves, l)
	}
	err = rowsOf(d, keyspace.TagDocs, id, func(suffix, value []byte) {
		if deleted, rev, rest, err := keyspace.ParseLeafKey(suffix); err == nil && len(rest) == 0 {
			doc.deleted[rev] = deleted
			doc.entries[rev] = bytes.Clone(value)
			if _, known := doc.lines[rev]; !known {
				doc.lines[rev] = true
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return doc, rowsOf(d, keyspace.TagHistory, id, func(suffix, value []byte) {
		if rev, _, err := keyspace.ParseRevision(suffix); err == nil {
			_, err := formats.ParseEntry(value)
			_, timed := formats.ReplacedAt(value)
			doc.history[rev] = timed || err != nil // one that cannot be read may have been
		}
	})
}

// rowsOf gives the rows of a document in a subspace.
func rowsOf(d *docread.Reader, tag keyspace.Tag, id string, row func(suffix, value []byte)) error {
	return d.Walk(d.Keys.Doc(nil, tag, id), new([]byte), func(suffix, value []byte) error {
		row(suffix, value)
		return nil
	})
}

// document brings back a document; winner is the revision that the changes feed names.
func (w *work) document(d *docread.Reader, id string, winner compat.Rev) error {
	doc, err := w.read(d, id)
	if err != nil {
		return err
	}
	known := 0
	for _, l := range doc.leaves {
		known++
		if l.Deleted && l.Access != nil {
			if w.readers == nil {
				w.readers = make(map[storage.ReadRev][]string)
			}
			w.readers[storage.ReadRev{ID: id, Rev: l.Rev}] = l.Access
		}
		if err := w.leaf(d, doc, l.Rev, l.Deleted, l.Stored || !l.Deleted, l.Ancestors.AppendTo(nil, 0)); err != nil {
			return err
		}
	}
	for _, rev := range sortedRevs(doc.lines) {
		if !doc.lines[rev] {
			continue
		}
		known++
		w.lost(id, rev, "its line of ancestors is lost")
		if err := w.leaf(d, doc, rev, doc.deleted[rev], doc.entries[rev] != nil || !doc.deleted[rev], nil); err != nil {
			return err
		}
	}
	if listed, err := d.R.Get(d.Keys.AllDocs(nil, id)); err != nil {
		return err
	} else if listed != nil && winner.IsZero() {
		winner, _ = formats.ParseWinner(listed)
	}
	_, isLeaf := doc.lines[winner]
	if !winner.IsZero() && !isLeaf {
		w.lost(id, winner, "the current revision is lost")
	}
	if known > 0 && (isLeaf || winner.IsZero()) {
		w.count(doc)
		return nil
	}
	if err := w.fromHistory(d, doc, sortedRevs(doc.history), nil); err != nil {
		return err
	}
	if len(doc.back) == 0 && winner.IsZero() {
		w.lost(id, winner, "all of it is lost")
	}
	w.count(doc)
	return nil
}

// count counts what was brought back of a document, and tells what was not although it is kept for a
// time: a revision that nothing of the tree leads to any more.
func (w *work) count(doc *damagedDoc) {
	if len(doc.back) > 0 {
		w.result.Documents++
	}
	for _, rev := range sortedRevs(doc.history) {
		_, back := doc.back[rev]
		switch {
		case back:
		case doc.history[rev]:
			w.lost(doc.id, rev, "this replaced revision is lost")
		default:
			w.result.Compactable++
		}
	}
}

// sortedRevs are the keys of a map, the greatest first.
func sortedRevs[V any](m map[compat.Rev]V) []compat.Rev {
	revs := make([]compat.Rev, 0, len(m))
	for rev := range m {
		revs = append(revs, rev)
	}
	slices.SortFunc(revs, func(a, b compat.Rev) int { return b.Compare(a) })
	return revs
}

// tombstone brings back a deletion without its body.
func (w *work) tombstone(d *docread.Reader, doc *damagedDoc, line compat.RevPath) error {
	empty := compat.Body{JSON: formats.EmptyBody, Size: int64(len(formats.EmptyBody))}
	edit := &compat.Document{ID: doc.id, HasID: true, Revs: line, Deleted: true, Body: empty}
	return w.addLine(d, doc, edit)
}

// leaf brings back a leaf; one whose body is lost is replaced by its newest ancestor that has one.
func (w *work) leaf(
	d *docread.Reader,
	doc *damagedDoc,
	rev compat.Rev,
	deleted, stored bool,
	ancestors []string,
) error {
	line := compat.RevPath{Start: rev.Pos, IDs: append([]string{rev.Hash}, ancestors...)}
	value := doc.entries[rev]
	if value == nil && !stored {
		return w.tombstone(d, doc, line)
	}
	if value != nil {
		edit, err := w.revision(d, doc, line, deleted, value)
		if err != nil {
			return err
		}
		if edit != nil {
			return w.addLine(d, doc, edit)
		}
	}
	if deleted {
		w.lost(doc.id, rev, "the body of the tombstone is lost")
		return w.tombstone(d, doc, line)
	}
	w.lost(doc.id, rev, "its body is lost")
	var older []compat.Rev
	for i, hash := range ancestors {
		older = append(older, compat.Rev{Pos: rev.Pos - 1 - int64(i), Hash: hash})
	}
	return w.fromHistory(d, doc, older, ancestors)
}

// fromHistory brings back the first of some revisions whose entry is in the history. line has the
// hashes of revs, if they are a line.
func (w *work) fromHistory(d *docread.Reader, doc *damagedDoc, revs []compat.Rev, line []string) error {
	for i, rev := range revs {
		if _, ok := doc.back[rev]; ok {
			return nil
		}
		path := compat.RevPath{Start: rev.Pos, IDs: []string{rev.Hash}}
		if line != nil {
			path.IDs = slices.Clone(line[i:])
		}
		edit, err := w.replaced(d, doc, path)
		if err != nil {
			return err
		}
		if edit != nil {
			w.lost(doc.id, rev, "this older revision takes the place of what is lost")
			return w.addLine(d, doc, edit)
		}
	}
	return nil
}

// replaced is the revision at the end of a line with the entry that is in the history; nil if there
// is none that can be read.
func (w *work) replaced(d *docread.Reader, doc *damagedDoc, line compat.RevPath) (*compat.Document, error) {
	if _, ok := doc.history[line.Rev()]; !ok {
		return nil, nil //nolint:nilnil // nil says so
	}
	value, err := d.R.Get(d.Keys.History(nil, doc.id, line.Rev()))
	if err != nil {
		return nil, err
	}
	e, err := formats.ParseEntry(value)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // nil says so
	}
	return w.revision(d, doc, line, e.Deleted, bytes.Clone(value))
}

// addLine puts a revision into the batch behind those of its ancestors that are kept for a time: in
// the order in which they were written each is replaced by the next one again.
func (w *work) addLine(d *docread.Reader, doc *damagedDoc, edit *compat.Document) error {
	line := edit.Revs
	for i := len(line.IDs) - 1; i > 0 && len(doc.history) > 0; i-- {
		rev := compat.Rev{Pos: line.Start - int64(i), Hash: line.IDs[i]}
		if _, back := doc.back[rev]; back || !doc.history[rev] {
			continue
		}
		older, err := w.replaced(d, doc, compat.RevPath{Start: rev.Pos, IDs: line.IDs[i:]})
		if err == nil && older != nil {
			err = w.add(doc, older)
		}
		if err != nil {
			return err
		}
	}
	return w.add(doc, edit)
}

// revision is a revision with the entry of that value, whose attachments are stored; nil if its body
// cannot be read.
func (w *work) revision(
	d *docread.Reader,
	doc *damagedDoc,
	line compat.RevPath,
	deleted bool,
	value []byte,
) (*compat.Document, error) {
	e, err := formats.ParseEntry(value)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // nil says so
	}
	body := e.Body
	if !e.BodyApart.IsZero() {
		if body, err = wholeBlob(d, &e.BodyApart); err != nil || body == nil {
			return nil, err
		}
	}
	parsed, err := compat.NewBody(bytes.Clone(body))
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // nil says so
	}
	parsed.Term = nil
	atts := e.Atts
	if !e.AttsApart.IsZero() {
		list, err := wholeBlob(d, &e.AttsApart)
		if err != nil {
			return nil, err
		}
		r := packed.Reader{B: list}
		if atts = formats.ReadAttachments(&r); list == nil || !r.Done() {
			w.lost(doc.id, line.Rev(), "the list of its attachments is lost")
			atts = nil
		}
	}
	edit := &compat.Document{ID: doc.id, HasID: true, Revs: line, Deleted: deleted, Body: parsed}
	for i := range atts {
		a := &atts[i]
		stored, ok, err := w.attachment(d, doc, a)
		if err != nil {
			return nil, err
		}
		if !ok {
			w.lost(doc.id, line.Rev(), "attachment %q is lost", a.Name)
			continue
		}
		edit.Attachments = append(edit.Attachments, stored)
	}
	return edit, nil
}

// wholeBlob reads a blob, nil if it is not whole or has changed.
func wholeBlob(d *docread.Reader, b *formats.Blob) ([]byte, error) {
	whole := make([]byte, 0, min(b.Length, 1<<20))
	ok, err := blobChunks(d, b.Ref, int64(b.Length), func(chunk []byte) { whole = append(whole, chunk...) })
	if err != nil || !ok || md5.Sum(whole) != b.Digest {
		return nil, err
	}
	return whole, nil
}

// blobChunks gives the chunks of a blob; false if some are missing.
func blobChunks(d *docread.Reader, ref string, length int64, chunk func([]byte)) (bool, error) {
	prefix := d.Keys.Attachment(nil, keyspace.TagAtt, ref)
	_, end := keyspace.Children(prefix)
	it := d.R.Range(tuple.AppendInt(prefix[:len(prefix):len(prefix)], 0), end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	n := int64(0)
	for next := int64(0); n < length && it.Next(); next++ {
		number, _, err := tuple.ReadInt(it.Key()[len(prefix):])
		if err != nil || number != next {
			return false, nil
		}
		chunk(it.Value())
		n += int64(len(it.Value()))
	}
	return n == length, it.Err()
}

// attachment stores the bytes of an attachment, once for all revisions of a document; false if they
// are not what they were.
func (w *work) attachment(
	d *docread.Reader,
	doc *damagedDoc,
	a *compat.Attachment,
) (stored compat.Attachment, ok bool, err error) {
	if len(a.Ref) != formats.BlobIDSize || a.EncodedLength < 0 {
		return stored, false, nil
	}
	stored, ok = doc.atts[a.Ref]
	if !ok {
		digest := md5.New()
		ok, err = blobChunks(d, a.Ref, a.EncodedLength, func(chunk []byte) { digest.Write(chunk) })
		if err != nil || !ok || !bytes.Equal(digest.Sum(nil), a.Digest[:]) {
			return stored, false, err
		}
		o := storage.Upload{Encoding: a.Encoding, Length: a.EncodedLength, Digest: &a.Digest}
		from := &blobReader{d: d, ref: a.Ref}
		if stored, err = w.db.Attachments().Uploads().Add(w.ctx, o, from); err != nil {
			return stored, false, err
		}
		if stored.Ref != "" { // others are in memory, and short
			doc.atts[a.Ref] = stored
		}
	}
	stored.Name, stored.Type, stored.Length, stored.RevPos, stored.HasRevPos = a.Name, a.Type, a.Length, a.RevPos, true
	w.result.Attachments++
	return stored, true, nil
}

// blobReader reads a blob's bytes chunk by chunk.
type blobReader struct {
	d    *docread.Reader
	ref  string
	n    int64
	rest []byte
}

// Read implements io.Reader.
func (r *blobReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		value, err := r.d.R.Get(tuple.AppendInt(r.d.Keys.Attachment(nil, keyspace.TagAtt, r.ref), r.n))
		if err != nil {
			return 0, err
		}
		if len(value) == 0 {
			return 0, io.EOF
		}
		r.n, r.rest = r.n+1, value
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// add puts a revision into the batch.
func (w *work) add(doc *damagedDoc, edit *compat.Document) error {
	doc.back[edit.Revs.Rev()] = struct{}{}
	w.batch = append(w.batch, edit)
	w.size += len(edit.Body.JSON) + 100
	for i := range edit.Attachments {
		w.size += int(edit.Attachments[i].InMemory())
	}
	if len(w.batch) < salvageDocs && w.size < salvageBytes {
		return nil
	}
	return w.flush()
}

// flush writes the batch.
func (w *work) flush() error {
	if len(w.batch) == 0 {
		return nil
	}
	o := storage.UpdateOptions{Replicated: true, Trusted: true, Readers: w.readers}
	results, err := w.db.Update(w.ctx, w.batch, o)
	if err != nil {
		return err
	}
	for i, result := range results {
		if result.Err != nil {
			w.lost(w.batch[i].ID, w.batch[i].Rev(), "it was not accepted: %v", result.Err)
			continue
		}
		w.result.Revisions++
	}
	w.batch, w.size, w.readers = w.batch[:0], 0, nil
	return nil
}

// predecessor is the number before that of a local document's revision; false for the first one.
func predecessor(hash string) (string, bool) {
	n, ok := new(big.Int).SetString(hash, 10)
	if !ok || n.Cmp(big.NewInt(1)) <= 0 {
		return "", false
	}
	return n.Sub(n, big.NewInt(1)).String(), true
}
