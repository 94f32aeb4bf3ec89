package verify

import (
	"bytes"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/audience"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
)

// docsCheck is the first phase: the documents in the order of their ids, in four subspaces at once.
type docsCheck struct {
	// begun tells that last is an id: the empty string is one as well.
	begun bool
	last  string // the last document that was checked
	// sums is what the counters of the database must hold, and parts what those of each partition
	// must, by its name. They are added up document by document and compared when all are through.
	sums  keyspace.StatDelta
	parts map[string]*keyspace.StatDelta
	// refs are the attachments that entries name; the phase that follows compares them with what is
	// stored of attachments.
	refs map[string]*attachmentUse
	// audience sums up what principals have to have.
	audience audience.Tally
}

// attachmentUse is what the entries say of an attachment.
type attachmentUse struct {
	// count is the number of entries that name the attachment.
	count  int64
	length int64 // stored bytes
	// digest is the MD5 that entries tell of it.
	digest [16]byte
	id     string // a document that names it
}

// docRows is what is stored of one document.
type docRows struct {
	id      string
	leaves  []formats.Leaf
	docs    []revEntry
	history []revEntry
	listed  []byte // value of TagAllDocs, nil if there is none
	stray   []string
	// inner tells of each leaf and each replaced revision whether it is an ancestor of a leaf, or
	// there twice; nil where nothing can be.
	inner map[compat.Rev]bool
}

// revEntry is an entry with its key.
type revEntry struct {
	rev     compat.Rev
	deleted bool // of the key in TagDocs, or the flag in TagHistory
	e       formats.Entry
	broken  bool // its body is no JSON object
}

// checkDocs checks invariants 1 to 4 of every document, and sums up what the counters have to say.
func (c *dbCheck) checkDocs(d *docread.Reader) error {
	var streams [4]*docread.IDStream
	tags := [...]keyspace.Tag{keyspace.TagRevs, keyspace.TagDocs, keyspace.TagHistory, keyspace.TagAllDocs}
	// The four subspaces have the same ids in the same order, so that they are merged like sorted
	// lists: no document has to be looked up in the others.
	for i, tag := range tags {
		streams[i] = d.IDs(tag, c.docs.last, c.docs.begun)
		defer streams[i].Close()
		if err := streams[i].Next(); err != nil {
			return err
		}
	}
	for more := true; more; {
		var docs []*docRows
		for len(docs) < c.prefetch.Rows {
			doc, err := nextDoc(d, streams)
			if err != nil {
				return err
			}
			if more = doc != nil; !more {
				break
			}
			docs = append(docs, doc)
		}
		if err := c.checkSome(d, docs); err != nil {
			return err
		}
		c.prefetch.Took(0)
		if len(c.store.violations) > MaxViolations {
			return errEnoughViolations
		}
	}
	return nil
}

// nextDoc takes the next document from the streams, nil at the end.
func nextDoc(d *docread.Reader, streams [4]*docread.IDStream) (*docRows, error) {
	doc := &docRows{}
	found := false
	for _, s := range streams {
		if s.OK && (!found || s.ID < doc.id) {
			doc.id, found = s.ID, true
		}
	}
	if !found {
		return nil, nil
	}
	return doc, doc.read(d, streams)
}

// checkSome checks a window of documents, whose rows of the changes feed it reads together.
func (c *dbCheck) checkSome(d *docread.Reader, docs []*docRows) error {
	keys := make([][]byte, len(docs))
	for i, doc := range docs {
		if n := len(doc.leaves); n > 0 {
			keys[i] = d.Keys.SeqKey(nil, keyspace.TagChanges, doc.leaves[n-1].Seq)
		}
	}
	rows, err := d.GetPresent(keys)
	if err != nil {
		return err
	}
	for i, doc := range docs {
		if d.Rec.Access.On && len(doc.leaves) > 0 {
			index := audience.Index{Keys: d.Keys}
			found, err := c.docs.audience.Document(d.R, index, doc.id, doc.leaves)
			if err != nil {
				return err
			}
			for _, detail := range found {
				c.violation(19, doc.id, "%s", detail)
			}
		}
		c.checkDoc(d, doc, rows[i])
		// From here on a newer snapshot goes on: begun tells an empty id from none.
		c.docs.last, c.docs.begun = doc.id, true
		d.Advance()
		if len(doc.leaves) > 0 {
			c.store.done++
			c.store.progress(c.store.done, max(c.store.total, c.store.done))
		}
	}
	return nil
}

// read takes the document's rows from the streams.
func (doc *docRows) read(d *docread.Reader, streams [4]*docread.IDStream) error {
	revs, docs, history, all := streams[0], streams[1], streams[2], streams[3]
	var leaves formats.LeafReader
	stray := func(err error) {
		if err != nil {
			doc.stray = append(doc.stray, "leaf: "+err.Error())
		}
	}
	for revs.OK && revs.ID == doc.id {
		stray(leaves.Add(revs.Key, revs.Value()))
		if err := revs.Next(); err != nil {
			return err
		}
	}
	stray(leaves.End())
	doc.leaves = leaves.Leaves
	for i := range doc.leaves {
		if l := &doc.leaves[i]; l.Entry != nil {
			if err := doc.addEntry(d, &doc.docs, l.Deleted, l.Rev, l.Entry); err != nil {
				return err
			}
		}
	}
	if err := doc.readEntries(d, docs, &doc.docs, keyspace.ParseLeafKey); err != nil {
		return err
	}
	historyKey := func(key []byte) (bool, compat.Rev, []byte, error) {
		rev, rest, err := keyspace.ParseRevision(key)
		return false, rev, rest, err
	}
	if err := doc.readEntries(d, history, &doc.history, historyKey); err != nil {
		return err
	}
	for i := range doc.history {
		doc.history[i].deleted = doc.history[i].e.Deleted
	}
	if all.OK && all.ID == doc.id {
		doc.listed = append([]byte{}, all.Value()...)
		return all.Next()
	}
	return nil
}

// readEntries takes the document's entries from a stream.
func (doc *docRows) readEntries(
	d *docread.Reader,
	s *docread.IDStream,
	entries *[]revEntry,
	parse func([]byte) (bool, compat.Rev, []byte, error),
) error {
	for s.OK && s.ID == doc.id {
		deleted, rev, rest, err := parse(s.Key)
		switch {
		case err != nil:
			doc.stray = append(doc.stray, err.Error())
		case len(rest) > 0:
			doc.stray = append(doc.stray, "a key below the entry of "+rev.String())
		default:
			if err := doc.addEntry(d, entries, deleted, rev, s.Value()); err != nil {
				return err
			}
		}
		if err := s.Next(); err != nil {
			return err
		}
	}
	return nil
}

// addEntry keeps what the check needs of an entry, without its body. A damaged entry is a
// violation; only errors of reading end the check.
func (doc *docRows) addEntry(d *docread.Reader, entries *[]revEntry, deleted bool, rev compat.Rev, value []byte) error {
	e, err := d.EntryOf(value)
	broken := isCorrupt(err)
	if broken {
		doc.stray = append(doc.stray, rev.String()+": "+err.Error())
		err = nil
	}
	if err != nil {
		return err
	}
	broken = broken || !isObject(e.Body)
	e.Body = nil // the memory is the store's
	*entries = append(*entries, revEntry{rev, deleted, e, broken})
	return nil
}

func isObject(body []byte) bool {
	p := ejson.AcquireParser()
	defer p.Release()
	v, err := p.Parse(body)
	return err == nil && v.Kind() == ejson.Object
}

// checkDoc checks one document; row is that of the changes feed.
func (c *dbCheck) checkDoc(d *docread.Reader, doc *docRows, row []byte) {
	n := len(doc.leaves)
	for _, detail := range doc.stray {
		c.violation(2, doc.id, "%s", detail)
	}
	doc.findInner()
	c.checkLeaves(doc)
	c.checkEntries(doc)
	if n > 0 {
		winner := &doc.leaves[n-1]
		want := formats.Change{
			ID: doc.id, Winner: winner.Rev, Deleted: winner.Deleted, Leaves: n, Kilobytes: winner.Kilobytes(),
		}
		if !bytes.Equal(row, want.Encode(nil)) {
			c.violation(4, doc.id, "its row of the changes feed is missing or differs")
		}
	}
	switch live := n > 0 && !doc.leaves[n-1].Deleted; {
	case live && !doc.leaves[n-1].IsListed(doc.listed):
		c.violation(3, doc.id, "not in the list of documents with its winner")
	case !live && doc.listed != nil:
		c.violation(3, doc.id, "in the list of documents, but it has no live leaf")
	}
	c.sumUp(d, doc)
}

// findInner fills in inner, in one walk over the tree.
func (doc *docRows) findInner() {
	if len(doc.leaves) <= 1 && len(doc.history) == 0 {
		return
	}
	doc.inner = make(map[compat.Rev]bool, len(doc.leaves)+len(doc.history))
	for i := range doc.leaves {
		rev := doc.leaves[i].Rev
		_, twice := doc.inner[rev] // as a tombstone, and as a leaf that is not deleted
		doc.inner[rev] = twice
	}
	for i := range doc.history {
		if rev := doc.history[i].rev; !doc.inner[rev] {
			doc.inner[rev] = false
		}
	}
	for rev := range formats.TreeOf(doc.leaves).Ancestors() {
		if _, asked := doc.inner[rev]; asked {
			doc.inner[rev] = true
		}
	}
}

// checkLeaves checks the revision tree.
func (c *dbCheck) checkLeaves(doc *docRows) {
	for i := range doc.leaves {
		l := &doc.leaves[i]
		if last := i == len(doc.leaves)-1; l.Winner != last {
			c.violation(1, doc.id, "leaf %s: carries a sequence: %v, is the winner: %v", l.Rev, l.Winner, last)
		}
		if doc.inner[l.Rev] {
			c.violation(1, doc.id, "leaf %s is also an ancestor", l.Rev)
		}
	}
}

// checkEntries checks that exactly the right revisions have entries.
func (c *dbCheck) checkEntries(doc *docRows) {
	type leafKey struct {
		rev     compat.Rev
		deleted bool
	}
	entries := make(map[leafKey]bool, len(doc.docs))
	for i := range doc.docs {
		entries[leafKey{doc.docs[i].rev, doc.docs[i].deleted}] = true
	}
	stored := 0
	for i := range doc.leaves {
		l := &doc.leaves[i]
		if l.Stored {
			stored++
		}
		has := entries[leafKey{l.Rev, l.Deleted}]
		if has != l.Stored {
			c.violation(2, doc.id, "leaf %s: says it has an entry: %v, has one: %v", l.Rev, l.Stored, has)
		} else if !has && !l.Deleted {
			c.violation(2, doc.id, "leaf %s has no entry", l.Rev)
		}
		if l.Entry != nil && !(l.Winner && formats.EntryTag(l.Kilobytes()) == keyspace.TagRevs) {
			c.violation(2, doc.id, "leaf %s: its entry is in its record", l.Rev)
		}
	}
	if stored != len(doc.docs) {
		c.violation(2, doc.id, "%d entries for %d leaves that have one", len(doc.docs), stored)
	}
	for _, list := range [...][]revEntry{doc.docs, doc.history} {
		for i := range list {
			if list[i].broken {
				c.violation(2, doc.id, "the body of %s is no JSON object", list[i].rev)
			}
		}
	}
	for i := range doc.history {
		if rev := doc.history[i].rev; !doc.inner[rev] {
			c.violation(13, doc.id, "the replaced revision %s is no ancestor of a leaf", rev)
		}
	}
}

// sumUp adds the document to what the counters have to say.
func (c *dbCheck) sumUp(d *docread.Reader, doc *docRows) {
	s := &c.docs
	var own keyspace.StatDelta
	if n := len(doc.leaves); n > 0 && doc.leaves[n-1].Deleted {
		own[keyspace.DelCount]++
	} else if n > 0 {
		own[keyspace.DocCount]++
	}
	for i := range doc.leaves {
		own[keyspace.ExternalSize] += doc.leaves[i].External
		own[keyspace.ActiveSize] += doc.leaves[i].Active
	}
	if name, ok := keyspace.PartitionOf(doc.id); ok && d.Rec.Partitioned {
		if s.parts == nil {
			s.parts = make(map[string]*keyspace.StatDelta)
		}
		if s.parts[name] == nil {
			s.parts[strings.Clone(name)] = new(keyspace.StatDelta)
		}
		s.parts[name].Add(&own)
	}
	for i := range doc.history {
		own[keyspace.HistorySize] += doc.history[i].e.Size
		own[keyspace.HistoryRows]++
	}
	s.sums.Add(&own)
	for _, list := range [...][]revEntry{doc.docs, doc.history} {
		for i := range list {
			e := &list[i].e
			for j := range e.Atts {
				a := &e.Atts[j]
				if !s.use(doc.id, a.Ref, a.EncodedLength, a.Digest) {
					c.violation(7, doc.id, "attachment %q of %s differs from another with the same bytes", a.Name,
						list[i].rev)
				}
			}
			for _, b := range [...]*formats.Blob{&e.AttsApart, &e.BodyApart} {
				if !b.IsZero() && !s.use(doc.id, b.Ref, int64(b.Length), b.Digest) {
					c.violation(7, doc.id, "the body of %s differs from something else with the same bytes",
						list[i].rev)
				}
			}
		}
	}
}

// use counts a reference to a blob; false if another one says something else of it.
func (s *docsCheck) use(id, ref string, length int64, digest [16]byte) bool {
	use := s.refs[ref]
	if use == nil {
		use = &attachmentUse{length: length, digest: digest, id: id}
		s.refs[ref] = use
	}
	use.count++
	return use.length == length && use.digest == digest
}
