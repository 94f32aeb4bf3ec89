package storage

import (
	"encoding/binary"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/revtree"
)

// leafRecord is one leaf of a document as TagRevs holds it.
//
// Value, format 1: format, flags, [seq (13), if the winner], varints external, active, number of ancestors; their hashes,
// newest first: 16 bytes each, or with a varint length each if flagged.
type leafRecord struct {
	revtree.Leaf
	seq      Seq  // of the document, in the winner
	winner   bool // carries seq
	stored   bool // has an entry in TagDocs
	external int64
	active   int64
}

const (
	leafFormat = 1

	leafWinner = 1
	leafStored = 2
	leafOdd    = 4 // a hash has another length than 16

	// leafSeqOffset is where the versionstamp is in a winner's value.
	leafSeqOffset = 3
)

func (l *leafRecord) encode(dst []byte) []byte {
	var flags byte
	if l.winner {
		flags |= leafWinner
	}
	if l.stored {
		flags |= leafStored
	}
	for _, a := range l.Ancestors {
		if len(a) != 16 {
			flags |= leafOdd
		}
	}
	dst = append(slices.Grow(dst, 40+17*len(l.Ancestors)), leafFormat, flags)
	if l.winner {
		dst = appendSeq(dst, l.seq)
	}
	dst = binary.AppendUvarint(dst, uint64(l.external))
	dst = binary.AppendUvarint(dst, uint64(l.active))
	dst = binary.AppendUvarint(dst, uint64(len(l.Ancestors)))
	for _, a := range l.Ancestors {
		if flags&leafOdd != 0 {
			dst = binary.AppendUvarint(dst, uint64(len(a)))
		}
		dst = append(dst, a...)
	}
	return dst
}

// parseLeaf reads a value of TagRevs; suffix is its key behind the document's prefix.
func parseLeaf(suffix, value []byte) (leafRecord, error) {
	var l leafRecord
	deleted, rev, _, err := parseLeafKey(suffix)
	if err != nil {
		return l, err
	}
	l.Rev, l.Deleted = rev, deleted
	r := valueReader{b: value}
	if r.byte() != leafFormat {
		return l, corrupt("leaf record", nil)
	}
	flags := r.byte()
	if l.winner = flags&leafWinner != 0; l.winner {
		if l.seq, err = parseSeq(r.take(seqSize)); err != nil {
			return l, err
		}
	}
	l.stored = flags&leafStored != 0
	l.external, l.active = int64(r.uvarint()), int64(r.uvarint())
	count := r.uvarint()
	if r.bad || count > uint64(len(r.b)) {
		return l, corrupt("leaf record", nil)
	}
	l.Ancestors = r.hashes(int(count), flags&leafOdd != 0)
	if r.bad {
		return l, corrupt("leaf record", nil)
	}
	return l, nil
}

// hashes reads a line of ancestors; the strings share one allocation.
func (r *valueReader) hashes(count int, odd bool) []string {
	if count == 0 {
		return nil
	}
	list := make([]string, count)
	if odd {
		for i := range list {
			list[i] = r.text()
		}
		return list
	}
	all := string(r.take(16 * count))
	if r.bad {
		return nil
	}
	for i := range list {
		list[i] = all[16*i : 16*i+16]
	}
	return list
}

// leafScan is a running read of a document's leaves, so that several can overlap.
type leafScan struct {
	prefix int
	it     kv.Iterator
}

func (d *dbRead) scanLeaves(id string) leafScan {
	begin, end := children(d.keys.doc(nil, TagRevs, id))
	return leafScan{prefix: len(begin), it: d.r.Range(begin, end, kv.RangeOptions{WantAll: true})}
}

// read drains the scan; the leaves ascend, so the winner is last.
func (s leafScan) read() ([]leafRecord, error) {
	defer s.it.Close()
	var leaves []leafRecord
	for s.it.Next() {
		l, err := parseLeaf(s.it.Key()[s.prefix:], s.it.Value())
		if err != nil {
			return nil, err
		}
		l.Tag = len(leaves)
		leaves = append(leaves, l)
	}
	return leaves, s.it.Err()
}

func (d *dbRead) leaves(id string) ([]leafRecord, error) { return d.scanLeaves(id).read() }

// treeOf makes the revision tree of leaf records; Tag is the index in leaves.
func treeOf(leaves []leafRecord) revtree.Tree {
	tree := make(revtree.Tree, len(leaves), len(leaves)+1)
	for i := range leaves {
		tree[i] = leaves[i].Leaf
		tree[i].Tag = i
	}
	return tree
}

// The value of TagAllDocs: the winner, depth as a signed varint, then the hash.

func encodeWinner(dst []byte, rev compat.Rev) []byte {
	return append(binary.AppendVarint(slices.Grow(dst, 4+len(rev.Hash)), rev.Pos), rev.Hash...)
}

func parseWinner(value []byte) (compat.Rev, error) {
	r := valueReader{b: value}
	pos := r.varint()
	if r.bad {
		return compat.Rev{}, corrupt("winner", nil)
	}
	return compat.Rev{Pos: pos, Hash: string(r.b)}, nil
}

// changeValue is a value of TagChanges: flags (1: all leaves are deleted), varint number of leaves, winner (signed varint depth,
// hash with varint length), id to the end.
type changeValue struct {
	id      string
	winner  compat.Rev
	deleted bool
	leaves  int
}

func (c *changeValue) encode(dst []byte) []byte {
	var flags byte
	if c.deleted {
		flags = 1
	}
	dst = slices.Grow(dst, 10+len(c.winner.Hash)+len(c.id))
	dst = binary.AppendUvarint(append(dst, flags), uint64(c.leaves))
	dst = appendText(binary.AppendVarint(dst, c.winner.Pos), c.winner.Hash)
	return append(dst, c.id...)
}

func parseChange(value []byte) (changeValue, error) {
	r := valueReader{b: value}
	c := changeValue{deleted: r.byte() == 1, leaves: int(r.uvarint())}
	c.winner = compat.Rev{Pos: r.varint(), Hash: r.text()}
	if r.bad {
		return c, corrupt("change", nil)
	}
	c.id = string(r.b)
	return c, nil
}
