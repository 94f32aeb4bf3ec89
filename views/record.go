package views

import (
	"encoding/binary"
	"fmt"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
)

// formatVersion is that of everything below TagViews; an index of another one is built anew.
const formatVersion = 6

// formatMarked is the one before: the levels of an index that is not interactive had boundaries in
// another form. They are made anew, the rows stay.
const formatMarked = 4

// formatPieces is the first byte of the record of an index that is built in pieces. A program that
// knows no pieces takes it for an index of another format: it would write rows that are there for a
// second time.
const formatPieces = 5

// record is the value of (info, signature), the state of an index.
//
// Format: format byte, flags, varint number, seq, fresh, text of collate.Version, varints of
// claims, height and fan of the levels, then with formatPieces the varint number of who leads them,
// then the reduce functions that have aggregates as (varint slot number, text).
type indexRecord struct {
	number      int64
	interactive bool
	raw         bool
	partitioned bool
	ready       bool // interactive: built up
	levels      bool // LEVELS is there, with the aggregates of slots
	sums        bool // the levels hold integer sums
	seq         storage.Seq
	// fresh: documents at or before it that the index has not seen yet were never seen, and have no
	// rows.
	fresh storage.Seq
	// claims counts what makes a builder of the levels begin anew: other builders of them that
	// began later, purges that took rows away while there were none, reduce functions that were
	// taken off, and documents that were tried again.
	claims      int64
	levelHeight int
	levelFan    int
	// pieces is not 0 while the index is built in pieces: the number of the index below which they
	// are (pieces.go). Until they are done seq is zero, and fresh where the last of them ends.
	pieces int64
	slots  []slot
}

// slot is a reduce function with aggregates in the levels.
type slot struct {
	number uint32
	source string
}

const (
	flagInteractive = 1 << iota
	flagReady
	flagLevels
	flagSums
	flagRaw
	flagPartitioned
)

// encode returns the record as it is stored. Transactions of builders compare these bytes to find
// out whether an index has changed, so equal records have equal bytes. The order of the flags is
// that of the constants above.
func (r *indexRecord) encode() []byte {
	var flags byte
	for bit, set := range [...]bool{r.interactive, r.ready, r.levels, r.sums, r.raw, r.partitioned} {
		if set {
			flags |= 1 << bit
		}
	}
	dst := binary.AppendVarint([]byte{formatVersion, flags}, r.number)
	dst = keyspace.AppendSeq(keyspace.AppendSeq(dst, r.seq), r.fresh)
	dst = packed.AppendText(dst, collate.Version)
	dst = binary.AppendVarint(dst, r.claims)
	dst = binary.AppendVarint(dst, int64(r.levelHeight))
	dst = binary.AppendVarint(dst, int64(r.levelFan))
	if r.pieces != 0 {
		dst[0] = formatPieces
		dst = binary.AppendVarint(dst, r.pieces)
	}
	for _, s := range r.slots {
		dst = binary.AppendVarint(dst, int64(s.number))
		dst = packed.AppendText(dst, s.source)
	}
	return dst
}

// parseRecord reads a record. usable is false if the index was written by other code or with
// another collation: only its number counts then, so that it can be removed.
func parseRecord(b []byte) (r indexRecord, usable bool, err error) {
	p := parser{packed.Reader{B: b}}
	format, flags := p.Byte(), p.Byte()
	r.number = p.Varint()
	if p.Bad {
		return r, false, corrupt("index record")
	}
	if format != formatVersion && format != formatMarked && format != formatPieces {
		return r, false, nil
	}
	r.interactive, r.ready = flags&flagInteractive != 0, flags&flagReady != 0
	r.levels, r.sums = flags&flagLevels != 0, flags&flagSums != 0
	r.levels = r.levels && (format != formatMarked || r.interactive)
	r.raw, r.partitioned = flags&flagRaw != 0, flags&flagPartitioned != 0
	r.seq, r.fresh = p.seq(), p.seq()
	version := p.Text()
	r.claims = p.Varint()
	r.levelHeight, r.levelFan = int(p.Varint()), int(p.Varint())
	if format == formatPieces {
		r.pieces = p.Varint()
	}
	for len(p.B) > 0 && !p.Bad {
		r.slots = append(r.slots, slot{number: uint32(p.Varint()), source: p.Text()})
	}
	if p.Bad {
		return r, false, corrupt("index record")
	}
	return r, version == collate.Version, nil
}

// parser reads values of ours.
type parser struct{ packed.Reader }

func (p *parser) seq() (s storage.Seq) {
	if b := p.Take(keyspace.SeqSize); b != nil {
		s, _ = keyspace.ParseSeq(b) // it is as long as it has to be
	}
	return s
}

// corrupt reports stored bytes that no code of ours writes.
func corrupt(what string) error { return fmt.Errorf("views: malformed %s: %w", what, kv.ErrCorrupt) }
