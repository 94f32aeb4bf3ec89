package views

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/views/large"
)

// Where several processes share a store, a large first build is cut into pieces of the feed, which
// they build at the same time (piecejob.go). The indexes of a design document that have nothing yet
// are cut together; the pieces are kept below the first of them, which leads, and the records of
// all say which one that is. While they do, nobody else changes the indexes. When all pieces are at
// their ends the indexes are where the last one ends, and are built further as any other.
//
// No row of a piece can be there already, and no two pieces have a document in common: what changes
// after the feed was cut comes after the last piece.

const (
	// defaultPieceChanges is about how many changes a piece has at most: so few that who inherits
	// one of a dead process has little to do again.
	defaultPieceChanges = 10_000
	// piecesPerProcess is how many pieces there are for each process, so that those which are not
	// equally fast end at about the same time, unless they would have fewer than minPieceChanges: a
	// piece costs a job.
	piecesPerProcess = 8
	minPieceChanges  = 2_500
	// maxPieces bounds the pieces of a build; of a longer feed they are larger.
	maxPieces = 256
	// piecesFormat is the first byte of stored pieces.
	piecesFormat = 1
)

// pieceSet is a first build in pieces. Format of the value of its key: format byte, texts of the id
// and the signature of the design document.
type pieceSet struct {
	lead      int64 // number of the index below which it is
	design    string
	signature Signature
	pieces    []*piece
}

// piece is a range of the feed. Format of its value: format byte, sequences where it is and where
// it ends, varints of changes done and, about, of all.
type piece struct {
	at, end     storage.Seq
	done, total int64
	key         []byte
	stored      []byte // its value
}

func (s *pieceSet) encode() []byte {
	return packed.AppendText(packed.AppendText([]byte{piecesFormat}, s.design), string(s.signature[:]))
}

func (s *pieceSet) parse(b []byte) error {
	p := parser{packed.Reader{B: b}}
	format := p.Byte()
	s.design = p.Text()
	signature := p.Text()
	if p.Bad || format != piecesFormat || len(signature) != len(s.signature) || len(p.B) > 0 {
		return corrupt("build in pieces")
	}
	s.signature = Signature([]byte(signature))
	return nil
}

func (c *piece) encode() []byte {
	dst := keyspace.AppendSeq(keyspace.AppendSeq([]byte{piecesFormat}, c.at), c.end)
	return binary.AppendVarint(binary.AppendVarint(dst, c.done), c.total)
}

func (c *piece) parse(b []byte) error {
	p := parser{packed.Reader{B: b}}
	format := p.Byte()
	c.at, c.end = p.seq(), p.seq()
	c.done, c.total = p.Varint(), p.Varint()
	if p.Bad || format != piecesFormat || len(p.B) > 0 {
		return corrupt("piece")
	}
	c.stored = bytes.Clone(b)
	return nil
}

// ended reports whether all of a piece is built.
func (c *piece) ended() bool { return !c.at.Before(c.end) }

// moved is the piece some changes later.
func (c *piece) moved(at storage.Seq, changes int) *piece {
	next := *c
	next.at, next.done = at, c.done+int64(changes)
	next.stored = next.encode()
	return &next
}

func (s space) piece(lead, n int64) []byte { return tuple.AppendInt(s.index(keyPieces, lead), n) }

// readPieces reads a build in pieces; nil if there is none.
func readPieces(r kv.ReadTx, sp space, lead int64) (*pieceSet, error) {
	begin, end := children(sp.index(keyPieces, lead))
	it := r.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	var set *pieceSet
	for it.Next() {
		if set == nil {
			set = &pieceSet{lead: lead}
			if err := set.parse(it.Value()); err != nil {
				return nil, err
			}
			continue
		}
		c := &piece{key: bytes.Clone(it.Key())}
		if err := c.parse(it.Value()); err != nil {
			return nil, err
		}
		set.pieces = append(set.pieces, c)
	}
	return set, it.Err()
}

// ended reports whether all pieces are built.
func (s *pieceSet) ended() bool {
	return !slices.ContainsFunc(s.pieces, func(c *piece) bool { return !c.ended() })
}

// progress adds up how many changes are done, and about how many there are.
func (s *pieceSet) progress() (done, total int64) {
	for _, c := range s.pieces {
		done += c.done
		total += c.total
	}
	return done, max(done, total)
}

// inPieces builds in pieces what can be built so, and finishes what others began to build in
// pieces. It returns when no index is in pieces any more.
func (b *builder) inPieces(ctx context.Context) error {
	for {
		var err error
		if at := slices.IndexFunc(b.indexes, func(ix *index) bool { return ix.rec.pieces != 0 }); at >= 0 {
			err = b.seeThrough(ctx, b.indexes[at].rec.pieces)
		} else if cut, failure := b.cut(ctx); failure != nil || !cut {
			return failure
		}
		if err == nil {
			_, err = b.prepare(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// sharesBuilds reports whether there are other processes to share a build with. While the processes
// are of several versions there are none: the older ones may know no pieces.
func (o *Options) sharesBuilds() bool {
	if o.Jobs == nil || o.Nodes == nil {
		return false
	}
	live := o.Nodes.Known()
	for _, m := range live {
		if m.Version != live[0].Version {
			return false
		}
	}
	return len(live) > 1
}

// cut cuts the first build of the indexes that have nothing yet, if that is worth it.
func (b *builder) cut(ctx context.Context) (cut bool, err error) {
	var indexes []*index
	for _, ix := range b.lagging {
		if !ix.rec.interactive && ix.rec.seq == (storage.Seq{}) && ix.pending >= 2*b.v.opts.pieceChanges {
			indexes = append(indexes, ix)
		}
	}
	if len(indexes) == 0 || !b.v.opts.sharesBuilds() {
		return false, nil
	}
	return b.cutUp(ctx, indexes)
}

// cutUp cuts the first build of some indexes, unless that gives one piece only.
func (b *builder) cutUp(ctx context.Context, indexes []*index) (cut bool, err error) {
	if _, err := b.v.program(b.db.Name(), defsOf(indexes)); err != nil {
		return false, err
	}
	err = b.db.Transact(ctx, func(tx *storage.Tx) error {
		if err := b.check(tx.KV()); err != nil {
			return err
		}
		set, end, err := b.cutFeed(tx.Snapshot().WithoutConflicts(), indexes[0])
		if cut = err == nil && len(set.pieces) > 1; !cut {
			return err
		}
		for _, ix := range indexes {
			if err := ix.unchanged(tx.KV()); err != nil {
				return err
			}
			rec := ix.rec
			if rec.levels {
				if err := b.v.aggregates.clear(tx.KV(), ix, &rec); err != nil {
					return err
				}
			}
			rec.fresh, rec.pieces = end, set.lead
			large.Put(tx.KV(), ix.keys.space.info(ix.def.signature), ix.stored, rec.encode())
		}
		tx.KV().Set(indexes[0].keys.space.index(keyPieces, set.lead), set.encode())
		for _, c := range set.pieces {
			tx.KV().Set(c.key, c.stored)
		}
		return nil
	})
	return cut, err
}

// pieceSize is about how many changes a piece has of a build of so many.
func (o *Options) pieceSize(pending int64) int64 {
	share := int64(minPieceChanges)
	if o.Nodes != nil {
		share = max(share, pending/int64(piecesPerProcess*max(1, len(o.Nodes.Known()))))
	}
	return max(min(share, o.pieceChanges), pending/maxPieces)
}

// cutFeed cuts the feed as a snapshot has it. Which rows a piece has is said by its sequences,
// however old the counts are by which it was cut.
func (b *builder) cutFeed(s *storage.Snapshot, lead *index) (set *pieceSet, end storage.Seq, err error) {
	if end, err = s.LastSeq(); err != nil {
		return nil, end, err
	}
	cuts, err := s.CutFeed(b.v.opts.pieceSize(lead.pending))
	if err != nil {
		return nil, end, err
	}
	set = &pieceSet{lead: lead.rec.number, design: b.design.id, signature: b.design.signature}
	var at storage.Seq
	left := lead.pending
	for _, c := range append(cuts, storage.FeedCut{Seq: end}) {
		if end.Before(c.Seq) || !at.Before(c.Seq) {
			continue
		}
		if c.Rows == 0 {
			c.Rows = max(left, 0)
		}
		left -= c.Rows
		next := piece{at: at, end: c.Seq, total: c.Rows, key: lead.keys.space.piece(set.lead, int64(len(set.pieces)))}
		set.pieces = append(set.pieces, next.moved(at, 0))
		at = c.Seq
	}
	return set, end, nil
}

// seeThrough finishes a build in pieces that has begun, also one that another process began: it
// has the remaining pieces built and joins them.
func (b *builder) seeThrough(ctx context.Context, lead int64) error {
	set, err := b.readPieces(ctx, lead)
	switch {
	case err != nil:
		return err
	case set == nil || b.v.opts.Nodes == nil: // who led it is gone; or the store was moved to where nobody shares it
		return b.beginAnew(ctx, lead)
	case set.signature == b.design.signature:
		return b.finishPieces(ctx, lead)
	}
	// Another design document shares an index with this one, and began.
	d, uuid, err := b.v.designWith(ctx, b.db, set.design, set.signature)
	if err == nil {
		other := &builder{v: b.v, db: b.db, uuid: uuid, design: d, task: b.task, run: b.run}
		err = other.finishPieces(ctx, lead)
	}
	if _, told := compat.AsError(err); told && !errors.Is(err, compat.KindNoDatabase) {
		return b.beginAnew(ctx, lead) // it is gone, or fails for reasons that are not this build's
	}
	return err
}

// beginAnew makes the indexes anew that are in pieces which nobody will end.
func (b *builder) beginAnew(ctx context.Context, lead int64) error {
	return b.db.Transact(ctx, func(tx *storage.Tx) error {
		for _, ix := range b.indexes {
			if ix.rec.pieces != lead {
				continue
			}
			if err := ix.unchanged(tx.KV()); err != nil {
				return err
			}
			if err := dropIndex(tx.KV(), ix.keys.space, ix.def.signature); err != nil {
				return err
			}
			if _, err := b.v.create(tx, ix.def); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *builder) readPieces(ctx context.Context, lead int64) (set *pieceSet, err error) {
	err = b.db.ViewAgain(kv.WithPrefetch(ctx, "pieces of "+b.design.id), func(s *storage.Snapshot) (err error) {
		set, err = readPieces(s.KV(), spaceOf(s), lead)
		return err
	})
	return set, err
}

// endPieces makes one index again of each that was built in pieces, once all are at their ends.
func (b *builder) endPieces(ctx context.Context, lead int64) error {
	return b.db.Transact(ctx, func(tx *storage.Tx) error {
		if err := b.check(tx.KV()); err != nil {
			return err
		}
		s := tx.Snapshot()
		sp := spaceOf(s)
		indexes, err := readIndexes(s, sp, b.design.definitions)
		if err != nil {
			return err
		}
		set, err := readPieces(tx.KV(), sp, lead)
		if err == nil && (set == nil || !set.ended()) {
			err = errMoved
		}
		if err != nil {
			return err
		}
		for _, ix := range piecesOf(indexes, lead) {
			rows, err := ix.rowCount(s.WithoutConflicts())
			if err != nil {
				return err
			}
			if rows > 0 {
				tx.KV().Set(ix.keys.changed, keyspace.AppendSeq(nil, ix.rec.fresh))
			}
			rec := ix.rec
			rec.seq, rec.pieces = rec.fresh, 0
			large.Put(tx.KV(), sp.info(ix.def.signature), ix.stored, rec.encode())
		}
		tx.KV().ClearRange(children(sp.index(keyPieces, lead)))
		return nil
	})
}

// piecesOf are those of some indexes that are built together in pieces.
func piecesOf(indexes []*index, lead int64) (some []*index) {
	for _, ix := range indexes {
		if ix != nil && ix.rec.pieces == lead {
			some = append(some, ix)
		}
	}
	return some
}
