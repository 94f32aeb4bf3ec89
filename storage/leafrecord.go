package storage

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/storage/revtree"
)

// leafRecord is one leaf of a document as TagRevs holds it.
//
// Value, format 2: format, flags, [seq (13), if the winner], varints external and active, [the entry with its varint
// length, if flagged], varint number of ancestors; their hashes, newest first: 16 bytes each, or with a varint length
// each if flagged. A value that is too long goes on in chunks below the key, and has a flag that says so.
type leafRecord struct {
	revtree.Leaf
	seq      Seq  // of the document, in the winner
	winner   bool // carries seq
	stored   bool // has an entry
	external int64
	active   int64
	entry    []byte // the entry's value, where it is in the record; else an entry is in TagDocs
	long     bool   // has chunks below its key; set by parseLeaf only
}

const (
	leafFormat = 2

	leafWinner = 1
	leafStored = 2
	leafOdd    = 4  // a hash has another length than 16
	leafLong   = 8  // more of the value is in chunks below the key
	leafEntry  = 16 // the entry is in the record

	// leafSeqOffset is where the versionstamp is in a winner's value.
	leafSeqOffset = 3

	// besideKilobytes: the entry of a winner that has less than that (leafRecord.kilobytes) is in its record.
	besideKilobytes = 4
)

// encode appends the record's value; parseLeafValue reads it. Hashes of 16 bytes, which is all that
// settee and CouchDB make, have no lengths; one hash of another length, as replication can bring,
// makes all of them have theirs.
func (l *leafRecord) encode(dst []byte) []byte {
	var flags byte
	if l.winner {
		flags |= leafWinner
	}
	if l.stored {
		flags |= leafStored
	}
	for _, a := range l.Ancestors.All() {
		if len(a) != 16 {
			flags |= leafOdd
		}
	}
	if l.entry != nil {
		flags |= leafEntry
	}
	dst = append(slices.Grow(dst, 40+len(l.entry)+17*l.Ancestors.Len()), leafFormat, flags)
	if l.winner {
		dst = keyspace.AppendSeq(dst, l.seq)
	}
	dst = binary.AppendUvarint(dst, uint64(l.external))
	dst = binary.AppendUvarint(dst, uint64(l.active))
	if l.entry != nil {
		dst = packed.AppendText(dst, l.entry)
	}
	dst = binary.AppendUvarint(dst, uint64(l.Ancestors.Len()))
	for _, a := range l.Ancestors.All() {
		if flags&leafOdd != 0 {
			dst = binary.AppendUvarint(dst, uint64(len(a)))
		}
		dst = append(dst, a...)
	}
	return dst
}

// putLeaf writes a leaf's record; before is the one that the key has so far, nil if there is none.
func (t *dbTx) putLeaf(id string, l, before *leafRecord) {
	key := t.keys.Leaf(nil, keyspace.TagRevs, id, l.Deleted, l.Rev)
	value := l.encode(t.leafScratch[:0])
	t.leafScratch = value[:0]
	if before != nil && before.long {
		t.tx.ClearRange(keyspace.Children(key))
	}
	first := value[:min(len(value), keyspace.MaxValue)]
	if len(first) < len(value) {
		first[1] |= leafLong
		t.putChunks(key, value[len(first):])
	}
	if l.winner {
		t.tx.SetVersionstampedValue(key, first, leafSeqOffset)
	} else {
		t.tx.Set(key, first)
	}
}

// clearLeafRecord removes a leaf's record.
func (t *dbTx) clearLeafRecord(id string, l *leafRecord) {
	key := t.keys.Leaf(nil, keyspace.TagRevs, id, l.Deleted, l.Rev)
	if l.long {
		t.tx.ClearRange(keyspace.Children(key))
	} else {
		t.tx.Clear(key)
	}
}

// parseLeaf reads a whole value of TagRevs; suffix is its key after the document's prefix. Its line shares what it has
// in common with those that lines made before.
func parseLeaf(lines *revtree.Lines, suffix, value []byte) (leafRecord, error) {
	l, line, err := parseLeafHead(suffix, value)
	if err != nil {
		return l, err
	}
	ok := line.count <= uint64(len(line.hashes))
	if ok {
		l.Ancestors, ok = lines.Line(l.Rev.Pos-1, int(line.count), line.odd, line.take, line.parse)
	}
	if !ok {
		return l, keyspace.Corrupt("leaf record", nil)
	}
	return l, nil
}

// leafLine is the stored line of a leaf's ancestors, or the first part of it.
type leafLine struct {
	count  uint64
	odd    bool
	hashes []byte
}

// take takes the next n hashes off as they are stored; nil if there are not so many.
func (l *leafLine) take(n int) []byte {
	r := packed.Reader{B: l.hashes}
	if l.odd {
		for range n {
			r.Bytes()
		}
	} else {
		r.Take(16 * n)
	}
	if r.Bad {
		return nil
	}
	taken := l.hashes[:len(l.hashes)-len(r.B)]
	l.hashes = r.B
	return taken
}

// parse makes strings, which share one allocation, of n hashes as they are stored.
func (l *leafLine) parse(stored []byte, n int) []string {
	list := make([]string, n)
	if l.odd {
		r := packed.Reader{B: stored}
		for i := range list {
			list[i] = r.Text()
		}
		return list
	}
	all := string(stored)
	for i := range list {
		list[i] = all[16*i : 16*i+16]
	}
	return list
}

// parseLeafHead reads what a leaf's own value says, and leaves its line of ancestors as it is. The entry shares memory
// with the value.
func parseLeafHead(suffix, value []byte) (leafRecord, leafLine, error) {
	deleted, rev, chunk, err := keyspace.ParseLeafKey(suffix)
	if err == nil && len(chunk) > 0 {
		err = keyspace.Corrupt("leaf key", nil)
	}
	if err != nil {
		return leafRecord{}, leafLine{}, err
	}
	l, line, err := parseLeafValue(value)
	l.Deleted, l.Rev = deleted, rev
	return l, line, err
}

// isWinner reports whether a value of TagRevs is the record of a winner.
func isWinner(value []byte) bool {
	return len(value) > 1 && value[0] == leafFormat && value[1]&leafWinner != 0
}

// parseLeafValue is parseLeafHead without what the key says.
func parseLeafValue(value []byte) (l leafRecord, line leafLine, err error) {
	r := packed.Reader{B: value}
	if r.Byte() != leafFormat {
		return l, line, keyspace.Corrupt("leaf record", nil)
	}
	flags := r.Byte()
	if l.winner = flags&leafWinner != 0; l.winner {
		if l.seq, err = keyspace.ParseSeq(r.Take(keyspace.SeqSize)); err != nil {
			return l, line, err
		}
	}
	l.stored, l.long = flags&leafStored != 0, flags&leafLong != 0
	l.external, l.active = int64(r.Uvarint()), int64(r.Uvarint())
	if flags&leafEntry != 0 {
		l.entry = r.Bytes()
		r.Bad = r.Bad || len(l.entry) == 0
	}
	line.count, line.odd = r.Uvarint(), flags&leafOdd != 0
	if line.hashes = r.B; r.Bad {
		err = keyspace.Corrupt("leaf record", nil)
	}
	return l, line, err
}

// leafReader puts the leaves of one document together from the rows of TagRevs, which come in the order of their keys.
type leafReader struct {
	leaves []leafRecord
	lines  revtree.Lines
	// heads leaves out the lines of all leaves but the winner.
	heads bool
	// held: a leaf is not read yet, since it goes on in chunks, or may be the winner. Its key after the document's
	// prefix, the value so far, the number of the next chunk.
	held          bool
	long          bool
	suffix, value []byte
	next          int64
}

// add takes a row; suffix is its key after the document's prefix.
func (r *leafReader) add(suffix, value []byte) error {
	if r.held {
		if rest, ok := bytes.CutPrefix(suffix, r.suffix); ok && r.long && len(rest) > 0 && rest[0] != keyspace.AfterID {
			n, _, err := tuple.ReadInt(rest)
			if err != nil || n != r.next {
				return keyspace.Corrupt("chunk of a leaf record", err)
			}
			r.value, r.next = append(r.value, value...), n+1
			return nil
		}
		if err := r.takeHeld(r.heads); err != nil {
			return err
		}
	}
	long := len(value) > 1 && value[1]&leafLong != 0
	if long || r.heads {
		r.held, r.long, r.next = true, long, 0
		r.suffix, r.value = append(r.suffix[:0], suffix...), append(r.value[:0], value...)
		return nil
	}
	return r.take(suffix, value, false)
}

// end finishes the leaf that add still holds; it is called after the last row.
func (r *leafReader) end() error { return r.takeHeld(false) }

func (r *leafReader) takeHeld(head bool) error {
	if !r.held {
		return nil
	}
	r.held = false
	return r.take(r.suffix, r.value, head)
}

// take parses a complete record and keeps it. Its entry is copied, because the row is the
// iterator's memory.
func (r *leafReader) take(suffix, value []byte, head bool) (err error) {
	var l leafRecord
	if head {
		l, _, err = parseLeafHead(suffix, value)
	} else {
		l, err = parseLeaf(&r.lines, suffix, value)
	}
	if err != nil {
		return err
	}
	l.Tag, l.entry = len(r.leaves), bytes.Clone(l.entry)
	r.leaves = append(r.leaves, l)
	return nil
}

// leafScan is a running read of a document's leaves, so that several can overlap.
type leafScan struct {
	prefix int
	heads  bool
	it     kv.Iterator
}

func (d *dbRead) scanLeaves(id string, heads bool) leafScan {
	begin, end := keyspace.Children(d.keys.Doc(nil, keyspace.TagRevs, id))
	return leafScan{prefix: len(begin), heads: heads, it: d.r.Range(begin, end, kv.RangeOptions{WantAll: true})}
}

// read drains the scan; the leaves ascend, so the winner is last.
func (s leafScan) read() ([]leafRecord, error) {
	defer s.it.Close()
	r := leafReader{heads: s.heads}
	for s.it.Next() {
		if err := r.add(s.it.Key()[s.prefix:], s.it.Value()); err != nil {
			return nil, err
		}
	}
	if err := s.it.Err(); err != nil {
		return nil, err
	}
	err := r.end()
	return r.leaves, err
}

func (d *dbRead) leaves(id string) ([]leafRecord, error) { return d.scanLeaves(id, false).read() }

// heads is leaves without the lines of ancestors; only the winner has its line. Lines can be nearly all of what is
// stored of leaves.
func (d *dbRead) heads(id string) ([]leafRecord, error) { return d.scanLeaves(id, true).read() }

// treeOf makes the revision tree of leaf records; Tag is the index in leaves.
func treeOf(leaves []leafRecord) revtree.Tree {
	tree := make(revtree.Tree, len(leaves), len(leaves)+1)
	for i := range leaves {
		tree[i] = leaves[i].Leaf
		tree[i].Tag = i
	}
	return tree
}

// kilobytes is about how long the entry of a leaf is, or how much belongs to it, if that is less than an entry can be.
// Rows of lists have it, so that who reads the entries of many rows knows how many have room together, and where most
// of them are.
func (l *leafRecord) kilobytes() int { return int(min(l.active, keyspace.MaxValue) >> 10) }

// entryTag is the subspace whose key of a winner has its entry, if it became the winner when it was written: TagRevs,
// where the record has the entry, or TagDocs. Of another winner the record says that its entry is not there.
func entryTag(kilobytes int) keyspace.Tag {
	if kilobytes < besideKilobytes {
		return keyspace.TagRevs
	}
	return keyspace.TagDocs
}

func readKilobytes(r *packed.Reader) int {
	n := r.Uvarint()
	if n > keyspace.MaxValue>>10 {
		r.Bad = true
		return 0
	}
	return int(n)
}

// isListed reports whether a value of TagAllDocs is that of the leaf.
func (l *leafRecord) isListed(value []byte) bool {
	rev, kilobytes, err := parseListed(value)
	return err == nil && rev == l.Rev && kilobytes == l.kilobytes()
}

// The value of TagAllDocs: the winner, depth as a signed varint, then the hash. Of an entry from a kilobyte on the
// depth is negative, and a varint follows it, the kilobytes.

func encodeWinner(dst []byte, rev compat.Rev) []byte { return encodeListed(dst, rev, 0) }

func encodeListed(dst []byte, rev compat.Rev, kilobytes int) []byte {
	dst = slices.Grow(dst, 5+len(rev.Hash))
	if kilobytes > 0 {
		dst = binary.AppendUvarint(binary.AppendVarint(dst, -rev.Pos), uint64(kilobytes))
	} else {
		dst = binary.AppendVarint(dst, rev.Pos)
	}
	return append(dst, rev.Hash...)
}

func parseWinner(value []byte) (compat.Rev, error) {
	rev, _, err := parseListed(value)
	return rev, err
}

func parseListed(value []byte) (rev compat.Rev, kilobytes int, err error) {
	r := packed.Reader{B: value}
	if rev.Pos = r.Varint(); rev.Pos < 0 {
		rev.Pos, kilobytes = -rev.Pos, readKilobytes(&r)
	}
	if r.Bad {
		return compat.Rev{}, 0, keyspace.Corrupt("winner", nil)
	}
	rev.Hash = string(r.B)
	return rev, kilobytes, nil
}

// changeValue is a value of TagChanges: flags (1: all leaves are deleted; 2: there are kilobytes), varint number of
// leaves, winner (signed varint depth, hash with varint length), varint kilobytes if there are any, id to the end.
type changeValue struct {
	id        string
	winner    compat.Rev
	deleted   bool
	leaves    int
	kilobytes int // see leafRecord
}

const (
	changeDeleted   = 1
	changeKilobytes = 2
)

// encode appends the row's value. The id comes last and needs no length.
func (c *changeValue) encode(dst []byte) []byte {
	var flags byte
	if c.deleted {
		flags = changeDeleted
	}
	if c.kilobytes > 0 {
		flags |= changeKilobytes
	}
	dst = slices.Grow(dst, 12+len(c.winner.Hash)+len(c.id))
	dst = binary.AppendUvarint(append(dst, flags), uint64(c.leaves))
	dst = packed.AppendText(binary.AppendVarint(dst, c.winner.Pos), c.winner.Hash)
	if c.kilobytes > 0 {
		dst = binary.AppendUvarint(dst, uint64(c.kilobytes))
	}
	return append(dst, c.id...)
}

// parseChange reads what encode wrote; kv.ErrCorrupt if it is too short.
func parseChange(value []byte) (changeValue, error) {
	r := packed.Reader{B: value}
	flags := r.Byte()
	c := changeValue{deleted: flags&changeDeleted != 0, leaves: int(r.Uvarint())}
	c.winner = compat.Rev{Pos: r.Varint(), Hash: r.Text()}
	if flags&changeKilobytes != 0 {
		c.kilobytes = readKilobytes(&r)
	}
	if r.Bad {
		return c, keyspace.Corrupt("change", nil)
	}
	c.id = string(r.B)
	return c, nil
}
