package couchfile

import (
	"cmp"
	"crypto/md5"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/settee-db/settee/compat"
)

// Revision is a leaf revision of a document.
type Revision struct {
	ID      string
	Revs    compat.RevPath // with its ancestors
	Seq     int64          // the update sequence of its document
	Deleted bool
	Body    []byte // JSON, without special members; valid until the next revision
	// Attachments are in the order of the file, newest first.
	Attachments []Attachment
}

// Attachment is what a revision says of an attachment, and where its bytes are.
type Attachment struct {
	compat.Attachment
	chunks []chunk
}

// chunk is a piece of an attachment; size is -1 where the file does not tell it beside the
// position.
type chunk struct{ at, size int64 }

const (
	// windowRevisions is how many revisions are looked up in the tree before their bodies are read,
	// in the order of the file. windowBytes bounds what is known of them meanwhile.
	windowRevisions = 10_000
	windowBytes     = 16 << 20
)

// leaf is a leaf revision whose body is still to be read.
type leaf struct {
	Revision
	at int64 // of the body; -1: there is none
}

// Revisions calls fn for each leaf revision of each document. Those of one document come one after
// the other only by chance: bodies are read in the order in which they were written, within windows
// of 10,000. A revision that cannot be read goes to lost. An error of fn or lost ends it. Documents
// whose update sequence is not above after are counted and otherwise passed over; 0: none.
func (f *File) Revisions(after int64, fn func(*Revision) error, lost func(*Damage) error) error {
	w := window{f: f, fn: fn, lost: lost, after: after}
	live, deleted, damaged := int64(0), int64(0), false
	err := f.walk(f.header.ids, func(key []byte, c *cursor) error {
		id, ok := keyText(key)
		if !ok {
			return errTerm("the id of a document is no binary")
		}
		gone, err := w.document(id, c)
		if err != nil {
			return err
		}
		if gone {
			deleted++
		} else {
			live++
		}
		return w.flushFull()
	}, func(d *Damage) error {
		damaged = true
		return lost(d)
	})
	if err == nil {
		err = w.flush()
	}
	wantLive, wantDeleted := f.header.ids.counts()
	if err == nil && !damaged && (live != wantLive || deleted != wantDeleted) {
		err = lost(&Damage{File: f.path, Offset: f.header.ids.root, Err: fmt.Errorf(
			"the tree of ids counts %d documents and %d deleted ones, and has %d and %d",
			wantLive, wantDeleted, live, deleted)})
	}
	return err
}

// Changed is Revisions of the documents whose update sequence is above after and at most upto, by
// the tree of sequences, which has documents since 2.0. Rows of it that are damaged go to broken:
// of their documents nothing is known but by Revisions.
func (f *File) Changed(after, upto int64, fn func(*Revision) error, lost, broken func(*Damage) error) error {
	w := window{f: f, fn: fn, lost: lost}
	rows := walker{f: f, lost: broken, part: true, after: after, upto: upto}
	rows.row = func(key []byte, c *cursor) error {
		seq := cursor{rest: key}
		if err := w.change(seq.integer(), c); err != nil {
			return err
		}
		return w.flushFull()
	}
	if f.header.sequences.root < 0 {
		return nil
	}
	if err := rows.node(f.header.sequences.root, f.header.at, 0); err != nil {
		return err
	}
	return w.flush()
}

type window struct {
	f      *File
	after  int64 // documents are passed over whose sequence is not above it
	fn     func(*Revision) error
	lost   func(*Damage) error
	leaves []leaf
	bytes  int
	record []byte
	body   []byte
}

// document reads a row of the tree of ids: {Seq, Deleted[, Sizes], Tree}, with more behind it on
// the branch with access (couch_bt_engine:id_tree_join/2).
func (w *window) document(id string, c *cursor) (deleted bool, err error) {
	arity := c.tuple()
	seq := c.integer()
	deleted = c.flag()
	switch {
	case arity == 4 || arity == 5:
		c.skip()
	case arity != 3:
		c.fail("a document cannot be read")
	}
	w.tree(id, seq, c)
	return deleted, c.err
}

// change reads a row of the tree of sequences: {Id, Deleted[, Sizes], Tree}. Before 1.2 rows had
// another form without lines (couch_bt_engine:seq_tree_join/2); they fail.
func (w *window) change(seq int64, c *cursor) error {
	arity := c.tuple()
	id := string(c.binary())
	c.flag()
	switch {
	case arity > 3:
		c.skip()
	case arity < 3:
		c.fail("a document cannot be read")
	}
	w.tree(id, seq, c)
	return c.err
}

// tree reads the tree of revisions of a document.
func (w *window) tree(id string, seq int64, c *cursor) {
	if seq <= w.after && w.after > 0 {
		c.skip()
		return
	}
	from := len(w.leaves)
	c.revisions(func(path compat.RevPath, gone bool, at int64) {
		w.leaves = append(w.leaves, leaf{Revision{ID: id, Revs: path, Seq: seq, Deleted: gone}, at})
		w.bytes += len(id) + 16*len(path.IDs) + 128
	})
	if c.err == nil && from == len(w.leaves) {
		c.fail("a document has no revisions")
	}
	if c.err != nil {
		w.leaves = w.leaves[:from]
	}
}

// flushFull reads the bodies of the window if that is full.
func (w *window) flushFull() error {
	if len(w.leaves) >= windowRevisions || w.bytes >= windowBytes {
		return w.flush()
	}
	return nil
}

// flag reads 0 or 1, or false or true.
func (c *cursor) flag() bool {
	if isAtom(c.peek()) {
		return c.atom() == "true"
	}
	return c.integer() != 0
}

// revHash reads the hash of a revision: 16 bytes, or its text.
func (c *cursor) revHash() string {
	hash, ok := compat.ParseRevHash(string(c.binary()))
	if !ok {
		c.fail("a revision cannot be read")
	}
	return hash
}

// revisions reads a tree of revisions, [{StartPos, {Rev, Value, Children}}], and calls leaf for
// each node without children (couch_bt_engine:rev_tree/1). Levels are as many as there are: a line
// may be as long as _revs_limit.
func (c *cursor) revisions(leaf func(path compat.RevPath, deleted bool, at int64)) {
	roots := c.list()
	for range roots {
		if c.err != nil || c.tuple() != 2 {
			c.fail("a tree of revisions cannot be read")
			return
		}
		c.branch(c.integer(), leaf)
	}
	c.endList(roots)
}

// branch reads a node and all that is below it, the node at depth start.
func (c *cursor) branch(start int64, leaf func(path compat.RevPath, deleted bool, at int64)) {
	var line []string   // hashes from the root down to the node
	var left, all []int // of each level of the line: children still to come, and all
	for c.err == nil {
		if c.tuple() != 3 {
			c.fail("a tree of revisions cannot be read")
			return
		}
		line = append(line, c.revHash())
		deleted, at := c.revision()
		children := c.list()
		if children == 0 && c.err == nil {
			path := compat.RevPath{Start: start + int64(len(line)) - 1, IDs: slices.Clone(line)}
			slices.Reverse(path.IDs)
			if path.Start < 1 || path.Start > compat.MaxRevPos {
				c.fail("a revision's depth is none")
				return
			}
			leaf(path, deleted, at)
		}
		left, all = append(left, children), append(all, children)
		for len(left) > 0 && left[len(left)-1] == 0 {
			c.endList(all[len(all)-1])
			line, left, all = line[:len(line)-1], left[:len(left)-1], all[:len(all)-1]
		}
		if len(left) == 0 {
			return
		}
		left[len(left)-1]--
	}
}

// revision reads the value of a node: {Deleted, Ptr, Seq[, Size[, Atts]]}, or [] of one that is
// known without a body.
func (c *cursor) revision() (deleted bool, at int64) {
	if c.peek() == tagNil {
		c.take(1)
		return false, -1
	}
	arity := c.tuple()
	if arity < 3 || arity > 5 {
		c.fail("a revision cannot be read")
		return false, -1
	}
	deleted, at = c.flag(), c.pointer()
	for range arity - 2 {
		c.skip()
	}
	return deleted, at
}

// flush reads the bodies of the window, in the order of the file.
func (w *window) flush() error {
	slices.SortStableFunc(w.leaves, func(a, b leaf) int { return cmp.Compare(a.at, b.at) })
	for i := range w.leaves {
		l := &w.leaves[i]
		if err := w.read(l); err != nil {
			err = fmt.Errorf("revision %s: %w", l.Revs.Rev(), err)
			if err = w.lost(&Damage{File: w.f.path, Offset: l.at, ID: l.ID, Err: err}); err != nil {
				return err
			}
			continue
		}
		if err := w.fn(&l.Revision); err != nil {
			return err
		}
	}
	clear(w.leaves)
	w.leaves, w.bytes = w.leaves[:0], 0
	return nil
}

var errNoBody = errors.New("it is known, but the file has no body of it")

// read reads the summary of a document, {Body, Attachments}: each a term, or a binary that holds a
// compressed one (couch_bt_engine:read_doc_body/2). It is the only thing beside headers that has a
// checksum.
func (w *window) read(l *leaf) (err error) {
	if l.at < 0 {
		return errNoBody
	}
	if w.record, _, err = w.f.blocks.record(w.record, l.at); err != nil {
		return err
	}
	c := newCursor(w.record)
	if c.tuple() != 2 {
		c.fail("the summary of a document cannot be read")
	}
	body := c.part()
	w.body = body.appendJSON(w.body[:0])
	if body.err == nil && (len(w.body) == 0 || w.body[0] != '{') {
		body.fail("a body is no object")
	}
	atts := c.part()
	l.Body, l.Attachments = w.body, atts.attachments()
	return errors.Join(c.err, body.err, atts.err)
}

// part gives one half of a summary.
func (c *cursor) part() cursor {
	if c.peek() == tagBinary {
		return newCursor(c.binary())
	}
	return cursor{rest: c.skip(), err: c.err}
}

// attachments reads the attachments of a document (couch_att:from_disk_term/2).
func (c *cursor) attachments() (list []Attachment) {
	n := c.list()
	for range n {
		a := c.attachment()
		if c.err != nil {
			return nil
		}
		list = append(list, a)
	}
	c.endList(n)
	return list
}

// attachment reads {Name, Type, Chunks, StoredLen, PlainLen, RevPos, Md5, Encoding}, that in a pair
// with what a plugin keeps, the same without PlainLen and Encoding, or {Name, {Type, Chunks, Len}}.
func (c *cursor) attachment() (a Attachment) {
	arity := c.tuple()
	if tag := c.peek(); arity == 2 && (tag == tagSmallTuple || tag == tagLargeTuple) {
		a = c.attachment()
		c.skip()
		return a
	}
	a.Source, a.HasRevPos = compat.SourceStored, true
	a.Name = string(c.binary())
	if arity == 2 {
		if c.tuple() != 3 {
			c.fail("an attachment cannot be read")
		}
	}
	a.Type = string(c.binary())
	a.chunks = c.chunks()
	a.EncodedLength = c.integer()
	a.Length = a.EncodedLength
	switch arity {
	case 2:
		return a
	case 8:
		a.Length = c.integer()
	case 6:
	default:
		c.fail("an attachment cannot be read")
		return a
	}
	a.RevPos = c.integer()
	if sum := c.binary(); len(sum) == md5.Size {
		a.Digest, a.HasDigest = [md5.Size]byte(sum), true
	}
	if arity == 8 {
		switch c.atom() { // before 1.0: whether it is compressed
		case "gzip", "true":
			a.Encoding = compat.EncodingGzip
		}
	}
	return a
}

// chunks reads [Ptr] or [{Ptr, Len}].
func (c *cursor) chunks() (list []chunk) {
	if c.peek() == tagString {
		c.take(1)
		for _, at := range c.take(c.number(2)) {
			list = append(list, chunk{int64(at), -1})
		}
		return list
	}
	n := c.list()
	for range n {
		if tag := c.peek(); tag == tagSmallTuple || tag == tagLargeTuple {
			if c.tuple() != 2 {
				c.fail("the chunks of an attachment cannot be read")
			}
			list = append(list, chunk{c.integer(), c.integer()})
		} else {
			list = append(list, chunk{c.integer(), -1})
		}
		if c.err != nil {
			return nil
		}
	}
	c.endList(n)
	return list
}

// Bytes reads the stored bytes of an attachment, compressed ones as they are. At the end it fails
// with a [Damage] if they are not those of its digest or length. Other reads of the file may come
// between its own.
func (f *File) Bytes(a *Attachment) io.Reader {
	return &attachmentReader{f: f, a: a, left: a.chunks, sum: md5.New()}
}

type attachmentReader struct {
	f    *File
	a    *Attachment
	left []chunk
	data []byte // what of the current chunk is not given yet
	buf  []byte
	read int64
	sum  hash.Hash
}

func (r *attachmentReader) Read(p []byte) (int, error) {
	for len(r.data) == 0 {
		if len(r.left) == 0 {
			return 0, r.end()
		}
		next := r.left[0]
		data, _, err := r.f.blocks.record(r.buf, next.at)
		if err == nil && next.size >= 0 && next.size != int64(len(data)) {
			err = errTerm("a chunk of an attachment has another length")
		}
		if err != nil {
			return 0, r.damage(next.at, err)
		}
		r.left, r.data, r.buf = r.left[1:], data, data[:0]
		if r.read += int64(len(data)); r.read > r.a.EncodedLength {
			return 0, r.damage(next.at, errLength)
		}
		_, _ = r.sum.Write(data) // a hash does not fail
	}
	n := copy(p, r.data)
	r.data = r.data[n:]
	return n, nil
}

var errLength = errors.New("an attachment does not have its length")

func (r *attachmentReader) end() error {
	switch {
	case r.read != r.a.EncodedLength:
		return r.damage(0, errLength)
	case r.a.HasDigest && string(r.sum.Sum(nil)) != string(r.a.Digest[:]):
		return r.damage(0, errChecksum)
	}
	return io.EOF
}

func (r *attachmentReader) damage(at int64, err error) error {
	return &Damage{File: r.f.path, Offset: at, Err: fmt.Errorf("attachment %q: %w", r.a.Name, err)}
}

// Leaves calls fn with the leaf revisions of each document whose row can be read, without reading
// bodies.
func (f *File) Leaves(fn func(id string, revs []compat.Rev)) error {
	return f.walk(f.header.ids, func(key []byte, c *cursor) error {
		id, _ := keyText(key)
		w := window{}
		if _, err := w.document(id, c); err != nil {
			return err
		}
		revs := make([]compat.Rev, len(w.leaves))
		for i := range w.leaves {
			revs[i] = w.leaves[i].Revs.Rev()
		}
		fn(id, revs)
		return nil
	}, func(*Damage) error { return nil })
}
