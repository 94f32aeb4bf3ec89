package couchfile

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	// oldestVersion is of 0.10; CouchDB opens none that is older either.
	oldestVersion, newestVersion = 4, 8
	// purgeTrees is the version since which purges are trees.
	purgeTrees = 7

	defaultRevsLimit  = 1000
	defaultPurgeLimit = 1000

	headerHead = 5 // 1, length
)

var (
	errNoHeader = errors.New("no valid header: it is no database of CouchDB, or all of its headers are damaged")
	errNewer    = errors.New("its format is not one of CouchDB 0.10 to 3.5 and main")
)

// header is the newest valid header of a file (couch_bt_engine_header.erl).
type header struct {
	at          int64 // where in the file
	version     int
	updateSeq   int64
	ids         tree // by id
	sequences   tree // by update sequence
	locals      tree
	purges      tree  // by purge sequence, since version 7
	lastPurge   int64 // before: where the last purge is, -1 for none
	purgeSeq    int64
	security    int64 // -1 for none
	revsLimit   int64
	purgesLimit int64
	uuid        string
	epochs      []epoch // newest first
	props       int64   // -1 for none
}

// epoch is from which sequence on a node has written the file.
type epoch struct {
	node string
	from int64
}

// tree is where the root of a B-tree is, and what its reduction is.
type tree struct {
	root      int64 // -1: it is empty
	reduction []byte
}

// findHeader looks for the last block that begins a valid header, as couch_file:find_header/3: what
// was written after it is not there. damaged are headers before it, counted from the end.
func (b *blocks) findHeader() (h *header, damaged []int64, err error) {
	for block := (b.size - 1) / blockSize; b.size > 0 && block >= 0; block-- {
		at := block * blockSize
		first, err := b.raw(at, 1)
		if err != nil {
			return nil, damaged, err
		}
		if first[0] != blockHeader {
			continue
		}
		h, err := b.headerAt(at)
		switch {
		case err == nil:
			return h, damaged, nil
		case errors.Is(err, errNewer):
			return nil, damaged, err
		}
		damaged = append(damaged, at)
	}
	return nil, damaged, errNoHeader
}

func (b *blocks) headerAt(at int64) (*header, error) {
	head, next, err := b.read(nil, at+1, headerHead-1)
	if err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(head))
	if n < checksumSize || n > maxRecord {
		return nil, errTooLarge
	}
	data, _, err := b.read(nil, next, n)
	if err != nil {
		return nil, err
	}
	if !matches(data[:checksumSize], data[checksumSize:]) {
		return nil, errChecksum
	}
	return parseHeader(at, data[checksumSize:])
}

// parseHeader reads the tuple of a header in any version; what an older one lacks has its default
// (couch_bt_engine_header:upgrade_tuple/1).
func parseHeader(at int64, term []byte) (*header, error) {
	c := newCursor(term)
	arity := c.tuple()
	if c.err == nil && (arity < 11 || c.atom() != "db_header") {
		return nil, errTerm("it is no header of a database")
	}
	h := &header{at: at, version: int(c.integer()), lastPurge: -1, security: -1, props: -1,
		revsLimit: defaultRevsLimit, purgesLimit: defaultPurgeLimit, purges: tree{root: -1}}
	if c.err == nil && (h.version < oldestVersion || h.version > newestVersion) {
		return nil, fmt.Errorf("%w: version %d", errNewer, h.version)
	}
	h.updateSeq = c.integer()
	c.skip()
	h.ids, h.sequences, h.locals = c.tree(), c.tree(), c.tree()
	if h.version >= purgeTrees {
		c.skip() // the same purges by their UUIDs
		h.purges = c.tree()
	} else {
		h.purgeSeq = c.integer()
		h.lastPurge = c.pointer()
	}
	h.security = c.pointer()
	h.revsLimit = c.integer()
	if arity >= 12 {
		if !c.empty() {
			h.uuid = string(c.binary())
		}
	}
	if arity >= 14 {
		h.epochs = c.epochs()
		c.skip() // compacted_seq
	}
	if arity >= 15 {
		h.purgesLimit = c.integer()
	}
	if arity >= 16 {
		h.props = c.pointer()
	}
	return h, c.err
}

// epochs reads [{Node, Seq}].
func (c *cursor) epochs() (list []epoch) {
	if c.empty() {
		return nil
	}
	n := c.list()
	for range n {
		if c.tuple() != 2 {
			c.fail("the epochs cannot be read")
			return nil
		}
		list = append(list, epoch{c.atom(), c.integer()})
	}
	c.endList(n)
	return list
}

// tree reads the state of a B-tree: nil, or {Ptr, Reduction} and, later, its size.
func (c *cursor) tree() tree {
	if c.empty() {
		return tree{root: -1}
	}
	arity := c.tuple()
	if arity != 2 && arity != 3 {
		c.fail("the state of a tree is missing")
		return tree{root: -1}
	}
	t := tree{root: c.integer(), reduction: c.skip()}
	if arity == 3 {
		c.skip()
	}
	return t
}

// pointer reads a position in the file, -1 for none.
func (c *cursor) pointer() int64 {
	if c.empty() {
		return -1
	}
	p := c.integer()
	if p < 0 {
		c.fail("a position is negative")
	}
	return p
}
