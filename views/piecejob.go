package views

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/views/progress"
)

// Each piece of a build is a job, which any process on the store takes; of one that dies another
// one has it. What keeps a process from writing that has lost its piece without noticing is the key
// of the piece, which each of its commits reads and writes, beside the records of the indexes.

// pieceJobType has workers of its own: the build that waits for its pieces is a job too.
const pieceJobType = "view-piece"

// piecesTogether is how many jobs one transaction adds.
const piecesTogether = 64

// pieceSpec names the job of a piece. Format of the data: texts of database, design document,
// signature, the database's uuid, varints of who leads and of the piece.
func (b *builder) pieceSpec(lead, n int64) jobs.Spec {
	var data []byte
	for _, text := range [...]string{b.db.Name(), b.design.id, string(b.design.signature[:]), string(b.uuid[:])} {
		data = packed.AppendText(data, text)
	}
	data = binary.AppendVarint(binary.AppendVarint(data, lead), n)
	name := []string{b.db.Name(), hex.EncodeToString(b.uuid[:]), strconv.FormatInt(lead, 10), strconv.FormatInt(n, 10)}
	return jobs.Spec{Type: pieceJobType, ID: strings.Join(name, "\x00"), Data: data}
}

// finishPieces has all pieces built by whoever takes them, and ends the build in pieces.
func (b *builder) finishPieces(ctx context.Context, lead int64) error {
	for {
		set, err := b.readPieces(ctx, lead)
		switch {
		case err != nil:
			return err
		case set == nil:
			return errMoved
		case set.ended():
			return b.endPieces(ctx, lead)
		}
		if err := b.awaitPieces(ctx, set); err != nil {
			return err
		}
	}
}

// awaitPieces waits until the jobs of the pieces that are not built have run.
func (b *builder) awaitPieces(ctx context.Context, set *pieceSet) error {
	var specs []jobs.Spec
	for n, c := range set.pieces {
		if !c.ended() {
			specs = append(specs, b.pieceSpec(set.lead, int64(n)))
		}
	}
	var tickets []jobs.Ticket
	for some := range slices.Chunk(specs, piecesTogether) {
		var added []jobs.Ticket
		_, err := b.v.opts.KV.Update(ctx, func(tx kv.Tx) error {
			added = added[:0]
			for _, spec := range some {
				ticket, err := b.v.opts.Jobs.AddTx(tx, spec)
				if err != nil {
					return err
				}
				added = append(added, ticket)
			}
			return nil
		})
		if err != nil {
			return err
		}
		tickets = append(tickets, added...)
	}
	ctx, stop := context.WithCancel(ctx)
	var showing sync.WaitGroup
	defer showing.Wait()
	defer stop()
	showing.Go(func() { b.showPieces(ctx, set.lead) })
	for _, ticket := range tickets {
		// a job that is forgotten has ended long ago; how, the pieces say
		if err := b.v.waitJob(ctx, ticket); err != nil && !errors.Is(err, jobs.ErrNotFound) {
			return err
		}
	}
	return nil
}

// showPieces shows as the progress of the build what all its pieces have done, until ctx ends.
func (b *builder) showPieces(ctx context.Context, lead int64) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if set, err := b.readPieces(ctx, lead); err == nil && set != nil { // others meet the error
			done, total := set.progress()
			b.task.Reach(done, total)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// runPiece is the job of a piece. It ends with nothing to do where the piece is gone.
func (v *Views) runPiece(ctx context.Context, run *jobs.Run) ([]byte, error) {
	p := parser{packed.Reader{B: run.Data}}
	database, id, signature, uuid := p.Text(), p.Text(), p.Text(), p.Text()
	lead, n := p.Varint(), p.Varint()
	if p.Bad || len(signature) != len(Signature{}) {
		return nil, jobs.Permanent(corrupt("job"))
	}
	b := &builder{v: v, db: v.opts.Store.DB(database), run: run, task: progress.New(database, id)}
	var err error
	b.design, b.uuid, err = v.designWith(ctx, b.db, id, Signature([]byte(signature)))
	if err == nil && string(b.uuid[:]) != uuid {
		err = compat.ErrNoDatabase
	}
	if err == nil {
		err = b.buildPiece(ctx, lead, n)
	}
	return jobOutcome(err)
}

// buildPiece brings a piece to its end. If the indexes were changed meanwhile it goes on with those
// that are in pieces still.
func (b *builder) buildPiece(ctx context.Context, lead, n int64) (err error) {
	ctx, stop := b.whileWanted(kv.InBackground(js.Background(ctx)))
	defer stop()
	defer func() { err = unwanted(ctx, err) }()
	for {
		p, err := b.openPiece(ctx, lead, n)
		if p == nil || err != nil {
			return err
		}
		if err := p.bring(ctx); !errors.Is(err, errMoved) {
			return err
		}
	}
}

// openPiece makes the pass over what is left of a piece; nil if nothing is.
func (b *builder) openPiece(ctx context.Context, lead, n int64) (p *pass, err error) {
	err = b.db.ViewAgain(kv.WithPrefetch(ctx, "piece of "+b.design.id), func(s *storage.Snapshot) error {
		p = nil
		sp := spaceOf(s)
		indexes, err := readIndexes(s, sp, b.design.definitions)
		if err != nil {
			return err
		}
		if indexes = piecesOf(indexes, lead); len(indexes) == 0 {
			return nil
		}
		c := &piece{key: sp.piece(lead, n)}
		value, err := s.KV().Get(c.key)
		if err != nil || value == nil {
			return err
		}
		if err := c.parse(value); err != nil || c.ended() {
			return err
		}
		b.target = c.end
		p = &pass{builder: b, indexes: indexes, piece: c, until: c.end}
		return nil
	})
	if p == nil || err != nil {
		return nil, err
	}
	p.program, err = b.v.program(b.db.Name(), defsOf(p.indexes))
	return p, err
}
