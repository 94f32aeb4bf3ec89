package formats

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/storage/revtree"
)

// Leaf is one leaf of a document as TagRevs holds it.
//
// Value, format 2: format, flags, [seq (13), if the winner], varints external and active, [the
// entry with its varint length, if flagged], [who may read it, if flagged: a varint number of
// principals, each with its varint length; in the winner the sights, likewise a number, each a
// principal, flags (1: gone, 2: a sequence follows), sequence (13)], varint number of ancestors;
// their hashes, newest first: 16 bytes each, or with a varint length each if flagged. A value that
// is too long goes on in chunks below the key, and has a flag that says so.
type Leaf struct {
	revtree.Leaf
	Seq    compat.Seq // of the document, in the winner
	Winner bool       // carries seq
	Stored bool       // has an entry
	// Bytes of the body by CouchDB's external size, and as stored, with attachments.
	External int64
	Active   int64
	Entry    []byte // the entry's value, where it is in the record; else an entry is in TagDocs
	Long     bool   // has chunks below its key; set by ParseLeaf only
	// Access are the principals that may read the leaf, sorted; nil in databases without access for
	// each document.
	Access []string
	Sights []Sight // of the document, in the winner; see package audience
}

// Sight tells since when a principal sees a document, or that it does no more.
type Sight struct {
	Principal string
	// Seq is where the principal's feed had the document first; if Gone, where it has the row that
	// the document is gone. Zero in a record that is about to be written: the sequence of the write.
	Seq  compat.Seq
	Gone bool
}

const (
	leafFormat = 2

	leafWinner = 1
	leafStored = 2
	leafOdd    = 4  // a hash has another length than 16
	LeafLong   = 8  // more of the value is in chunks below the key
	leafEntry  = 16 // the entry is in the record
	leafAccess = 32 // tells who may read it

	sightGone = 1
	sightSeq  = 2

	// LeafSeqOffset is where the versionstamp is in a winner's value.
	LeafSeqOffset = 3

	// BesideKilobytes: the entry of a winner that has less than that (Leaf.kilobytes) is in its
	// record.
	BesideKilobytes = 4
)

// Encode appends the record's value; ParseLeafValue reads it. Hashes of 16 bytes, which is all that
// settee and CouchDB make, have no lengths; one hash of another length, as replication can bring,
// makes all of them have theirs.
func (l *Leaf) Encode(dst []byte) []byte {
	var flags byte
	if l.Winner {
		flags |= leafWinner
	}
	if l.Stored {
		flags |= leafStored
	}
	for _, a := range l.Ancestors.All() {
		if len(a) != 16 {
			flags |= leafOdd
		}
	}
	if l.Entry != nil {
		flags |= leafEntry
	}
	if l.Access != nil {
		flags |= leafAccess
	}
	dst = append(slices.Grow(dst, 40+len(l.Entry)+17*l.Ancestors.Len()), leafFormat, flags)
	if l.Winner {
		dst = keyspace.AppendSeq(dst, l.Seq)
	}
	dst = binary.AppendUvarint(dst, uint64(l.External))
	dst = binary.AppendUvarint(dst, uint64(l.Active))
	if l.Entry != nil {
		dst = packed.AppendText(dst, l.Entry)
	}
	if l.Access != nil {
		dst = l.appendAccess(dst)
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

// appendAccess appends who may read the leaf, and the document's sights if it is the winner.
func (l *Leaf) appendAccess(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(l.Access)))
	for _, p := range l.Access {
		dst = packed.AppendText(dst, p)
	}
	if !l.Winner {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(len(l.Sights)))
	for i := range l.Sights {
		s := &l.Sights[i]
		var flags byte
		if s.Gone {
			flags |= sightGone
		}
		if s.Seq != (compat.Seq{}) {
			flags |= sightSeq
		}
		dst = append(packed.AppendText(dst, s.Principal), flags)
		if flags&sightSeq != 0 {
			dst = keyspace.AppendSeq(dst, s.Seq)
		}
	}
	return dst
}

// parseAccess reads what appendAccess wrote. Sights of the write that made the record get its
// sequence.
func (l *Leaf) parseAccess(r *packed.Reader) error {
	l.Access = make([]string, r.Count(1))
	for i := range l.Access {
		l.Access[i] = r.Text()
	}
	if !l.Winner {
		return nil
	}
	l.Sights = make([]Sight, r.Count(2))
	for i := range l.Sights {
		s := &l.Sights[i]
		s.Principal, s.Seq = r.Text(), l.Seq
		flags := r.Byte()
		if s.Gone = flags&sightGone != 0; flags&sightSeq != 0 && !r.Bad {
			seq, err := keyspace.ParseSeq(r.Take(keyspace.SeqSize))
			if err != nil {
				return err
			}
			s.Seq, r.Bad = seq, seq == compat.Seq{}
		}
	}
	return nil
}

// ParseLeaf reads a whole value of TagRevs; suffix is its key after the document's prefix. Its line
// shares what it has in common with those that lines made before.
func ParseLeaf(lines *revtree.Lines, suffix, value []byte) (Leaf, error) {
	l, line, err := ParseLeafHead(suffix, value)
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

// LeafLine is the stored line of a leaf's ancestors, or the first part of it, that was not read
// yet.
type LeafLine struct {
	// How many hashes there are; odd ones are not hexadecimal and have their lengths.
	count  uint64
	odd    bool
	hashes []byte
}

// take takes the next n hashes off as they are stored; nil if there are not so many.
func (l *LeafLine) take(n int) []byte {
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
func (l *LeafLine) parse(stored []byte, n int) []string {
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

// ParseLeafHead reads what a leaf's own value says, and leaves its line of ancestors as it is. The
// entry shares memory with the value.
func ParseLeafHead(suffix, value []byte) (Leaf, LeafLine, error) {
	deleted, rev, chunk, err := keyspace.ParseLeafKey(suffix)
	if err == nil && len(chunk) > 0 {
		err = keyspace.Corrupt("leaf key", nil)
	}
	if err != nil {
		return Leaf{}, LeafLine{}, err
	}
	l, line, err := ParseLeafValue(value)
	l.Deleted, l.Rev = deleted, rev
	return l, line, err
}

// IsWinner reports whether a value of TagRevs is the record of a winner.
func IsWinner(value []byte) bool {
	return len(value) > 1 && value[0] == leafFormat && value[1]&leafWinner != 0
}

// ParseLeafValue is ParseLeafHead without what the key says.
func ParseLeafValue(value []byte) (l Leaf, line LeafLine, err error) {
	r := packed.Reader{B: value}
	if r.Byte() != leafFormat {
		return l, line, keyspace.Corrupt("leaf record", nil)
	}
	flags := r.Byte()
	if l.Winner = flags&leafWinner != 0; l.Winner {
		if l.Seq, err = keyspace.ParseSeq(r.Take(keyspace.SeqSize)); err != nil {
			return l, line, err
		}
	}
	l.Stored, l.Long = flags&leafStored != 0, flags&LeafLong != 0
	l.External, l.Active = int64(r.Uvarint()), int64(r.Uvarint())
	if flags&leafEntry != 0 {
		l.Entry = r.Bytes()
		r.Bad = r.Bad || len(l.Entry) == 0
	}
	if flags&leafAccess != 0 {
		if err = l.parseAccess(&r); err != nil {
			return l, line, err
		}
	}
	line.count, line.odd = r.Uvarint(), flags&leafOdd != 0
	if line.hashes = r.B; r.Bad {
		err = keyspace.Corrupt("leaf record", nil)
	}
	return l, line, err
}

// LeafReader puts the leaves of one document together from the rows of TagRevs, which come in the
// order of their keys.
type LeafReader struct {
	// What was read, the winner last; the hashes of their lines share memory.
	Leaves []Leaf
	lines  revtree.Lines
	// heads leaves out the lines of all leaves but the winner.
	Heads bool
	// held: a leaf is not read yet, since it goes on in chunks, or may be the winner. Its key after
	// the document's prefix, the value so far, the number of the next chunk.
	held          bool
	long          bool
	suffix, value []byte
	next          int64
}

// Add takes a row; suffix is its key after the document's prefix.
func (r *LeafReader) Add(suffix, value []byte) error {
	if r.held {
		if rest, ok := bytes.CutPrefix(suffix, r.suffix); ok && r.long && len(rest) > 0 && rest[0] != keyspace.AfterID {
			n, _, err := tuple.ReadInt(rest)
			if err != nil || n != r.next {
				return keyspace.Corrupt("chunk of a leaf record", err)
			}
			r.value, r.next = append(r.value, value...), n+1
			return nil
		}
		if err := r.takeHeld(r.Heads); err != nil {
			return err
		}
	}
	long := len(value) > 1 && value[1]&LeafLong != 0
	if long || r.Heads {
		r.held, r.long, r.next = true, long, 0
		r.suffix, r.value = append(r.suffix[:0], suffix...), append(r.value[:0], value...)
		return nil
	}
	return r.take(suffix, value, false)
}

// Drop forgets the leaf that add still holds, where its chunks are damaged.
func (r *LeafReader) Drop() { r.held = false }

// End finishes the leaf that add still holds; it is called after the last row.
func (r *LeafReader) End() error { return r.takeHeld(false) }

// takeHeld reads the leaf that was held back, now that its last chunk is there.
func (r *LeafReader) takeHeld(head bool) error {
	if !r.held {
		return nil
	}
	r.held = false
	return r.take(r.suffix, r.value, head)
}

// take parses a complete record and keeps it. Its entry is copied, because the row is the
// iterator's memory.
func (r *LeafReader) take(suffix, value []byte, head bool) (err error) {
	var l Leaf
	if head {
		l, _, err = ParseLeafHead(suffix, value)
	} else {
		l, err = ParseLeaf(&r.lines, suffix, value)
	}
	if err != nil {
		return err
	}
	l.Tag, l.Entry = len(r.Leaves), bytes.Clone(l.Entry)
	r.Leaves = append(r.Leaves, l)
	return nil
}

// FewLeaves is the number of leaves of a document up to which a linear search is used. Larger trees
// get an index: a document with many conflicts would otherwise cost the square of their number.
const FewLeaves = 16

// TreeOf makes the revision tree of leaf records; Tag is the index in leaves.
func TreeOf(leaves []Leaf) revtree.Tree {
	tree := make(revtree.Tree, len(leaves), len(leaves)+1)
	for i := range leaves {
		tree[i] = leaves[i].Leaf
		tree[i].Tag = i
	}
	return tree
}

// Kilobytes is the size of a leaf's entry in whole kilobytes, with the parts that are stored under
// keys of their own, and at most that of the largest value. Rows of lists carry it, so that a
// reader of many entries knows how many of them fit into memory together, and where most of them
// are stored.
func (l *Leaf) Kilobytes() int { return int(min(l.Active, keyspace.MaxValue) >> 10) }

// EntryTag is the subspace whose key of a winner has its entry, if it became the winner when it was
// written: TagRevs, where the record has the entry, or TagDocs. Of another winner the record says
// that its entry is not there.
func EntryTag(kilobytes int) keyspace.Tag {
	if kilobytes < BesideKilobytes {
		return keyspace.TagRevs
	}
	return keyspace.TagDocs
}

// readKilobytes reads a size that is rounded up to kilobytes; more than a value holds is damage.
func readKilobytes(r *packed.Reader) int {
	n := r.Uvarint()
	if n > keyspace.MaxValue>>10 {
		r.Bad = true
		return 0
	}
	return int(n)
}

// IsListed reports whether a value of TagAllDocs is that of the leaf.
func (l *Leaf) IsListed(value []byte) bool {
	rev, kilobytes, err := ParseListed(value)
	return err == nil && rev == l.Rev && kilobytes == l.Kilobytes()
}

// The value of TagAllDocs: the winner, depth as a signed varint, then the hash. Of an entry from a
// kilobyte on the depth is negative, and a varint follows it, the kilobytes.

// EncodeWinner appends a revision as an entry below a kilobyte has it.
func EncodeWinner(dst []byte, rev compat.Rev) []byte { return EncodeListed(dst, rev, 0) }

// EncodeListed appends the value of TagAllDocs; ParseListed reads it.
func EncodeListed(dst []byte, rev compat.Rev, kilobytes int) []byte {
	dst = slices.Grow(dst, 5+len(rev.Hash))
	if kilobytes > 0 {
		dst = binary.AppendUvarint(binary.AppendVarint(dst, -rev.Pos), uint64(kilobytes))
	} else {
		dst = binary.AppendVarint(dst, rev.Pos)
	}
	return append(dst, rev.Hash...)
}

// ParseWinner is ParseListed without the kilobytes.
func ParseWinner(value []byte) (compat.Rev, error) {
	rev, _, err := ParseListed(value)
	return rev, err
}

// ParseListed reads what EncodeListed wrote.
func ParseListed(value []byte) (rev compat.Rev, kilobytes int, err error) {
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

// Change is a value of TagChanges: flags (1: all leaves are deleted; 2: there are kilobytes),
// varint number of leaves, winner (signed varint depth, hash with varint length), varint kilobytes
// if there are any, id to the end.
type Change struct {
	// What a row of the feed has of its document besides its sequence.
	ID        string
	Winner    compat.Rev
	Deleted   bool
	Leaves    int
	Kilobytes int // see Leaf
}

const (
	changeDeleted   = 1
	changeKilobytes = 2
)

// Encode appends the row's value. The id comes last and needs no length.
func (c *Change) Encode(dst []byte) []byte {
	var flags byte
	if c.Deleted {
		flags = changeDeleted
	}
	if c.Kilobytes > 0 {
		flags |= changeKilobytes
	}
	dst = slices.Grow(dst, 12+len(c.Winner.Hash)+len(c.ID))
	dst = binary.AppendUvarint(append(dst, flags), uint64(c.Leaves))
	dst = packed.AppendText(binary.AppendVarint(dst, c.Winner.Pos), c.Winner.Hash)
	if c.Kilobytes > 0 {
		dst = binary.AppendUvarint(dst, uint64(c.Kilobytes))
	}
	return append(dst, c.ID...)
}

// ParseChange reads what encode wrote; kv.ErrCorrupt if it is too short.
func ParseChange(value []byte) (Change, error) {
	r := packed.Reader{B: value}
	flags := r.Byte()
	c := Change{Deleted: flags&changeDeleted != 0, Leaves: int(r.Uvarint())}
	c.Winner = compat.Rev{Pos: r.Varint(), Hash: r.Text()}
	if flags&changeKilobytes != 0 {
		c.Kilobytes = readKilobytes(&r)
	}
	if r.Bad {
		return c, keyspace.Corrupt("change", nil)
	}
	c.ID = string(r.B)
	return c, nil
}
