package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/counts"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/storagetest"
)

// Several processes on a store that is slow, has conflicts, lets snapshots become too old, and does
// not tell the outcome of some commits: what their clients have seen of a document is as if
// everything had happened one after the other, each operation between its call and its answer; and
// feeds have every write that was acknowledged.

const (
	linearProcesses = 3
	linearClients   = 6 // two of each process
	linearDocs      = 3
)

// losing is a store that leaves the outcome of some Updates open: some of these have happened.
type losing struct {
	kv.Store
	rate float64
}

// Update implements kv.Store.
func (s losing) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	switch lot := rand.Float64(); {
	case lot < s.rate/2:
		return kv.Versionstamp{}, kv.ErrUnavailable
	case lot < s.rate:
		if _, err := s.Store.Update(ctx, fn); err != nil {
			return kv.Versionstamp{}, err
		}
		return kv.Versionstamp{}, kv.ErrUnavailable
	}
	return s.Store.Update(ctx, fn)
}

// docOp is what a client does with a document.
type docOp struct {
	kind   string // "read", "write" or "delete"
	doc    int
	number int // of a write: what it puts into the document; no two put the same
	parent int // the number of the document that it replaces, 0 if it shall not be there
}

// docResult is what it has seen.
type docResult struct {
	number  int // that was read, 0: it is not there
	refused bool
	unknown bool
}

// docModel has the number that the document has, 0 if it is not there. A write whose outcome is
// unknown is one whose answer came at the end of all times: where it has not happened, that is
// where it takes place.
var docModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := make([][]porcupine.Operation, linearDocs)
		for _, op := range history {
			doc := op.Input.(docOp).doc
			parts[doc] = append(parts[doc], op)
		}
		return parts
	},
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		op, seen, now := input.(docOp), output.(docResult), state.(int)
		if op.kind == "read" {
			return seen.number == now, now
		}
		next := op.number
		if op.kind == "delete" {
			next = 0
		}
		switch applies := op.parent == now; {
		case seen.unknown && !applies:
			return true, now
		case seen.unknown:
			return true, next
		case seen.refused:
			return !applies, now
		default:
			return applies, next
		}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// linearHistory is what clients of several processes do with a database.
type linearHistory struct {
	t     *testing.T
	clock atomic.Int64
	next  atomic.Int64 // number of a write

	mu         sync.Mutex
	operations []porcupine.Operation
	ledger     map[string]bool // documents that were written once; false: the outcome is unknown
}

// do runs an operation and notes what came of it.
func (h *linearHistory) do(client int, op docOp, run func() docResult) {
	call := h.clock.Add(1)
	seen := run()
	end := h.clock.Add(1)
	if seen.unknown {
		if op.kind == "read" {
			return
		}
		end = math.MaxInt64
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations,
		porcupine.Operation{ClientId: client, Input: op, Call: call, Output: seen, Return: end})
}

// known is what a client knows of a document.
type known struct {
	rev    compat.Rev
	number int
}

func hotDoc(doc int) string { return fmt.Sprint("hot", doc) }

// numberIn is the number in a body.
func numberIn(t *testing.T, body []byte) int {
	var fields struct{ N int }
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Error(err)
	}
	return fields.N
}

// client runs random operations through one process.
func (h *linearHistory) client(ctx context.Context, n int, db *DB, rng *rand.Rand, steps int) {
	seen := make([]known, linearDocs)
	for step := range steps {
		doc := rng.IntN(linearDocs)
		switch kind := rng.IntN(10); {
		case kind < 3:
			h.read(ctx, n, db, doc, &seen[doc])
		case kind < 4:
			h.list(ctx, n, db, rng.IntN(2) == 0)
		case kind < 8:
			h.write(ctx, n, db, doc, &seen[doc], false)
		case kind < 9:
			if seen[doc].number != 0 {
				h.write(ctx, n, db, doc, &seen[doc], true)
			}
		default:
			h.once(ctx, db, fmt.Sprintf("once%d-%d", n, step))
		}
	}
}

// fails reports whether err says that the outcome is unknown; other errors fail the test.
func (h *linearHistory) fails(err error) bool {
	if err != nil && !errors.Is(err, kv.ErrUnavailable) && !errors.Is(err, kv.ErrTooOld) {
		h.t.Error(err)
	}
	return err != nil
}

func (h *linearHistory) read(ctx context.Context, client int, db *DB, doc int, seen *known) {
	h.do(client, docOp{kind: "read", doc: doc}, func() docResult {
		d, err := db.Open(ctx, hotDoc(doc), docread.OpenOptions{})
		switch {
		case errors.Is(err, compat.KindNotFound):
			*seen = known{}
		case h.fails(err):
			return docResult{unknown: true}
		default:
			*seen = known{d.Rev, numberIn(h.t, d.Body)}
		}
		return docResult{number: seen.number}
	})
}

// list reads all documents, by their ids or through the feed: each is a read of its own.
func (h *linearHistory) list(ctx context.Context, client int, db *DB, feed bool) {
	numbers := make(map[string]int)
	call := h.clock.Add(1)
	var err error
	if feed {
		_, err = db.Feed().Changes(ctx, ChangesOptions{Limit: -1, IncludeDocs: true}, func(c *Change) error {
			delete(numbers, c.ID)
			if !c.Deleted {
				numbers[c.ID] = numberIn(h.t, c.Doc.Body)
			}
			return nil
		})
	} else {
		err = db.AllDocs(ctx, RangeOptions{Limit: -1, IncludeDocs: true}, func(ListHeader) error { return nil },
			func(r *ListRow) error {
				numbers[r.ID] = numberIn(h.t, r.Doc.Body)
				return nil
			})
	}
	end := h.clock.Add(1)
	if h.fails(err) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for doc := range linearDocs {
		h.operations = append(h.operations, porcupine.Operation{
			ClientId: client, Input: docOp{kind: "read", doc: doc}, Call: call,
			Output: docResult{number: numbers[hotDoc(doc)]}, Return: end,
		})
	}
}

// write replaces or deletes a document, on top of what the client has seen last.
func (h *linearHistory) write(ctx context.Context, client int, db *DB, doc int, seen *known, deletes bool) {
	op := docOp{kind: "write", doc: doc, number: int(h.next.Add(1)), parent: seen.number}
	if deletes {
		op.kind = "delete"
	}
	h.do(client, op, func() docResult {
		edit := docOf(hotDoc(doc), seen.rev, fmt.Sprintf(`{"n":%d}`, op.number))
		edit.Deleted = deletes
		results, err := db.Update(ctx, []*compat.Document{edit}, UpdateOptions{})
		switch {
		case h.fails(err):
			return docResult{unknown: true}
		case results[0].Err != nil:
			if results[0].Err.Kind != compat.KindConflict {
				h.t.Error(results[0].Err)
			}
			return docResult{refused: true}
		case deletes:
			*seen = known{}
		default:
			*seen = known{results[0].Rev, op.number}
		}
		return docResult{}
	})
}

// once writes a document that nobody else writes.
func (h *linearHistory) once(ctx context.Context, db *DB, id string) {
	results, err := db.Update(ctx, []*compat.Document{docOf(id, compat.Rev{}, `{"n":1}`)}, UpdateOptions{})
	if err == nil && results[0].Err != nil {
		h.t.Error(results[0].Err)
	}
	acknowledged := !h.fails(err)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ledger[id] = acknowledged
}

// feedRows are the rows that a follower has got, by id, in order.
type feedRows map[string][]compat.Rev

// follow reads the feed of a process until done is closed and it has come to its end.
func follow(t *testing.T, db *DB, done <-chan struct{}) feedRows {
	rows := make(feedRows)
	var since Seq
	listener, err := db.Feed().Listen(t.Context())
	if err != nil {
		t.Error(err)
		return rows
	}
	defer listener.Close()
	for over := false; ; {
		n := 0
		end, err := db.Feed().Changes(t.Context(), ChangesOptions{Since: since, Limit: -1}, func(c *Change) error {
			if !since.Before(c.Seq.Seq) {
				t.Errorf("%s at %v comes after %v", c.ID, c.Seq.Seq, since)
			}
			since = c.Seq.Seq
			rows[c.ID] = append(rows[c.ID], c.Revs[0])
			n++
			return nil
		})
		switch {
		case errors.Is(err, kv.ErrTooOld):
			continue // with what comes after the last row
		case err != nil:
			t.Error(err)
			return rows
		case n > 0 && !over:
			since = end.Last.Seq
			continue
		case over:
			return rows
		}
		select {
		case <-listener.C():
			if err := listener.Wait(t.Context()); err != nil {
				t.Error(err)
				return rows
			}
		case <-done:
			over = true
		}
	}
}

// TestLinearizable is what the comment at the beginning of this file says.
func TestLinearizable(t *testing.T) {
	storagetest.OnEngines(t, func(t *testing.T, engine kv.Store) {
		first := openStore(t, engine)
		for round := range shorter(6, 2) {
			name := fmt.Sprint("linear", round)
			must(t, first.Create(t.Context(), name, CreateOptions{}))
			linearRound(t, engine, name, uint64(round))
		}
	})
}

// linearRound runs one history in a database and checks it.
func linearRound(t *testing.T, engine kv.Store, name string, seed uint64) {
	h := &linearHistory{t: t, ledger: make(map[string]bool)}
	processes := make([]*Store, linearProcesses)
	for p := range processes {
		rates := faultkv.Rates{
			Conflict: 0.05, UnknownAborted: 0.02, UnknownCommitted: 0.02, TooOld: 0.02, TooOldRead: 0.0005,
			MaxDelay: time.Millisecond,
		}
		faulty := faultkv.New(engine, faultkv.Random(seed*10+uint64(p), rates))
		s, err := Open(t.Context(), Options{KV: faulty, Manual: true})
		must(t, err)
		s.kv = losing{faulty, 0.02}
		processes[p] = s
	}
	done := make(chan struct{})
	var clients, followers sync.WaitGroup
	feeds := make([]feedRows, linearProcesses)
	for p, s := range processes {
		followers.Go(func() { feeds[p] = follow(t, s.DB(name), done) })
	}
	for n := range linearClients {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		clients.Go(func() { h.client(t.Context(), n, processes[n%linearProcesses].DB(name), rng, 25) })
	}
	clients.Wait()
	close(done)
	followers.Wait()
	switch porcupine.CheckOperationsTimeout(docModel, h.operations, time.Minute) {
	case porcupine.Illegal:
		for _, op := range h.operations {
			t.Logf("client %d, %d to %d: %s", op.ClientId, op.Call, op.Return,
				docModel.DescribeOperation(op.Input, op.Output))
		}
		t.Error("the history is not linearizable")
	case porcupine.Unknown:
		t.Log("the check of a history took too long")
	}
	s := &Store{kv: engine, limits: engine.Limits(), sizes: counts.DefaultSizes(), securities: newSecurities()}
	h.checkFeeds(s, name, feeds)
	for _, s := range processes {
		must(t, s.Close())
	}
}

// checkFeeds compares what followers have got with what was acknowledged, and with what there is in
// the end.
func (h *linearHistory) checkFeeds(s *Store, name string, feeds []feedRows) {
	last := make(map[string]compat.Rev)
	live := int64(0)
	_, err := s.DB(name).Feed().Changes(h.t.Context(), ChangesOptions{Limit: -1}, func(c *Change) error {
		last[c.ID] = c.Revs[0]
		if !c.Deleted {
			live++
		}
		return nil
	})
	must(h.t, err)
	info, err := s.DB(name).Info(h.t.Context())
	must(h.t, err)
	listed := int64(0)
	must(h.t, s.DB(name).AllDocs(h.t.Context(), RangeOptions{Limit: -1},
		func(header ListHeader) error {
			want(h.t, "total_rows", header.Total, live)
			return nil
		},
		func(*ListRow) error {
			listed++
			return nil
		}))
	want(h.t, "documents", info.DocCount, live)
	want(h.t, "rows of the list", listed, live)
	want(h.t, "rows of the feed", info.DocCount+info.DocDelCount, int64(len(last)))
	for id, acknowledged := range h.ledger {
		if _, ok := last[id]; acknowledged && !ok {
			h.t.Errorf("%s was acknowledged and is not there", id)
		}
	}
	for process, rows := range feeds {
		for id, revs := range rows {
			got := make(map[compat.Rev]bool)
			for _, rev := range revs {
				if got[rev] {
					h.t.Errorf("process %d: %s at %s came twice", process, id, rev)
				}
				got[rev] = true
			}
			if rev, ok := last[id]; !ok || revs[len(revs)-1] != rev {
				h.t.Errorf("process %d: the last row of %s has %s, the document %s", process, id, revs[len(revs)-1],
					rev)
			}
			if _, once := h.ledger[id]; once && len(revs) != 1 {
				h.t.Errorf("process %d: %s was written once and came %d times", process, id, len(revs))
			}
		}
		want(h.t, fmt.Sprintf("documents in the feed of process %d", process), len(rows), len(last))
	}
}
