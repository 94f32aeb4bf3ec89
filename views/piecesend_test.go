package views

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestPiecesEnd: nothing is left of a build in pieces whose design document or database goes in the
// middle.
func TestPiecesEnd(t *testing.T) {
	for _, database := range []bool{false, true} {
		t.Run(fmt.Sprint("database ", database), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memkv.New()
				defer store.Close()
				all := openProcesses(t, store, 3)
				defer stopAll(t, all)
				all[0].put(t, "_design/d", designBody("emitter", piecesDesign))
				var first atomic.Bool
				for _, p := range all {
					p.onMap(func(n int64) {
						switch {
						case n != 300 || first.Swap(true):
						case database:
							must(t, p.store.Delete(t.Context(), "db"))
						default:
							p.put(t, "_design/d", "")
							must(t, p.views.Cleanup(t.Context(), p.db))
						}
					})
				}
				err := <-all[1].build()
				if !errors.Is(err, compat.KindNotFound) && !errors.Is(err, compat.ErrNoDatabase) {
					t.Errorf("who waits gets %v", err)
				}
				time.Sleep(10 * time.Minute) // all jobs are done, and forgotten
				want(t, "pieces", all[0].pieces(t), "map[]")
				if !database {
					must(t, all[2].views.Cleanup(t.Context(), all[2].db))
				}
				must(t, store.View(t.Context(), func(tx kv.ReadTx) error {
					return noneLeft(t, tx, all[0], database)
				}))
				all[0].checkStored(t)
			})
		})
	}
}

// noneLeft sees that an index has left nothing.
func noneLeft(t *testing.T, tx kv.ReadTx, p *process, database bool) error {
	if database {
		it := tx.Range([]byte{0x15, 32}, []byte{0x15, 0xff}, kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			t.Errorf("%q is left", it.Key())
		}
		return it.Err()
	}
	return p.db.View(t.Context(), func(s *storage.Snapshot) error {
		for _, tag := range append([]int64{keyInfo}, indexTags[:]...) {
			begin, end := children(spaceOf(s).sub(nil, tag))
			it := s.KV().Range(begin, end, kv.RangeOptions{})
			if it.Next() {
				t.Errorf("a key of tag %d is left", tag)
			}
			must(t, it.Close())
		}
		return nil
	})
}

// TestPiecesAfterRestart: a build in pieces goes on where it was after all processes were stopped
// or killed.
func TestPiecesAfterRestart(t *testing.T) {
	for _, kill := range []bool{false, true} {
		t.Run(fmt.Sprint("killed ", kill), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memkv.New()
				defer store.Close()
				all := openProcesses(t, store, 2)
				all[0].put(t, "_design/d", designBody("emitter", piecesDesign))
				enough := make(chan struct{})
				var mapped atomic.Int64
				for _, p := range all {
					p.onMap(func(int64) {
						n := mapped.Add(1)
						// Not the last ones: what is mapped when a process ends may still be
						// committed.
						if n == pieceDocuments/2 {
							close(enough)
						}
						if n >= pieceDocuments/2 {
							time.Sleep(time.Second)
						}
					})
				}
				done := all[0].build()
				<-enough
				if kill {
					all[0].kill()
					all[1].kill()
				}
				stopAll(t, all)
				<-done // the query of a process that ends
				again := []*process{newProcess(t, store, ""), newProcess(t, store, "")}
				defer stopAll(t, again)
				again[0].checkStored(t)
				if _, set := again[0].state(t); set == nil || set.ended() {
					t.Fatalf("what was left: %+v", set)
				}
				must(t, <-again[1].build())
				if n := again[0].mapped.Load() + again[1].mapped.Load(); n == 0 || n >= 2*pieceDocuments {
					t.Errorf("%d documents were mapped after the restart", n)
				}
				again[0].compareBuilt(t)
			})
		})
	}
}

// TestSharedIndexInPieces: a design document that shares an index with one that is built in pieces
// waits for that, and makes it anew if nobody ends it.
func TestSharedIndexInPieces(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		t.Run(fmt.Sprint("deleted ", deleted), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memkv.New()
				defer store.Close()
				all := openProcesses(t, store, 2)
				defer stopAll(t, all)
				b := all[0]
				b.put(t, "_design/d", designBody("emitter", piecesDesign))
				b.put(t, "_design/e", designBody("emitter", `{"w":{"map":"n","reduce":"_count"}}`))
				lead := b.cutOnly(t)
				must(t, b.pieceBuilder(t).buildPiece(t.Context(), lead, 2))
				indexes, _ := b.state(t)
				if deleted {
					b.put(t, "_design/d", "")
				}
				want(t, "count", b.query(t, "e", "w", "").rows, fmt.Sprintf("[null=%d]", 2*pieceDocuments))
				now, set := b.state(t)
				if set != nil && !deleted || len(now) != len(indexes) {
					t.Errorf("indexes %v, pieces %v", now, set)
				}
				b.checkStored(t)
				if deleted {
					b.put(t, "_design/d", designBody("emitter", piecesDesign))
				}
				b.compareBuilt(t)
			})
		})
	}
}

// TestFailureOfPieces: what a build fails with in one piece is what who waits gets, as without
// pieces.
func TestFailureOfPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		defer store.Close()
		all := openProcesses(t, store, 2)
		defer stopAll(t, all)
		b := all[0]
		b.put(t, "doc000700", `{"emit":[[1,"no number"]]}`)
		b.more(t, 1200, `{"emit":[[1,1]]}`)
		b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"m","reduce":"_stats"},"w":{"map":"n","reduce":"_count"}}`))
		b.put(t, "_design/e", designBody("emitter", `{"w":{"map":"n","reduce":"_count"}}`))
		for range 2 {
			if err := <-b.build(); err == nil || !strings.Contains(err.Error(), "_stats") {
				t.Errorf("who waits gets %v", err)
			}
		}
		want(t, "count of an index that does not fail", b.query(t, "e", "w", "").rows,
			fmt.Sprintf("[null=%d]", 2*pieceDocuments-1+1200))
		b.checkStored(t)
		b.put(t, "doc000700", `{"emit":[[1,1]]}`)
		must(t, <-b.build())
		want(t, "rows", b.query(t, "d", "v", "reduce=false").rows, b.bruteForce(t, false))
		b.checkStored(t)
	})
}

// more writes more documents, of which a hundred share a transaction.
func (b *bench) more(t tester, n int, body string) {
	for from := 0; from < n; from += 100 {
		docs := make([]*compat.Document, 100)
		for i := range docs {
			docs[i] = newDoc(t, fmt.Sprintf("more%06d", from+i), "", body)
		}
		_, err := b.db.Update(context.Background(), docs, storage.UpdateOptions{})
		must(t, err)
	}
}

// TestNotInPieces: a process that is alone, or knows one of another version beside it, and one that
// has a store to itself, build without pieces; the last also what it finds in pieces.
func TestNotInPieces(t *testing.T) {
	for _, version := range []string{"", "older"} {
		t.Run("version "+version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memkv.New()
				defer store.Close()
				all := openProcesses(t, store, 1)
				defer stopAll(t, all)
				if version != "" {
					older := newProcess(t, store, version)
					defer older.stop(t)
					awaitProcesses(t, all[0], older)
				}
				all[0].put(t, "_design/d", designBody("emitter", piecesDesign))
				must(t, <-all[0].build())
				want(t, "pieces", all[0].pieces(t), "map[]")
				all[0].compareBuilt(t)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		defer store.Close()
		all := openProcesses(t, store, 2)
		defer stopAll(t, all)
		all[0].put(t, "_design/d", designBody("emitter", piecesDesign))
		must(t, all[0].pieceBuilder(t).buildPiece(t.Context(), all[0].cutOnly(t), 1))
		all[1].stop(t)
		all[0].views.opts.Nodes = nil
		must(t, <-all[0].build())
		want(t, "pieces", all[0].pieces(t), "map[]")
		all[0].compareBuilt(t)
	})
}

// TestCheckOfPieces: the check finds what no build leaves.
func TestCheckOfPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		defer store.Close()
		all := openProcesses(t, store, 2)
		defer stopAll(t, all)
		b := all[0]
		b.put(t, "_design/d", designBody("emitter", piecesDesign))
		lead := b.cutOnly(t)
		for name, harm := range map[string]func(tx kv.Tx, sp space, ix *index, set *pieceSet){
			"leftover": func(tx kv.Tx, sp space, _ *index, set *pieceSet) {
				tx.Set(sp.index(keyPieces, 99), set.encode())
			},
			"none": func(tx kv.Tx, sp space, _ *index, _ *pieceSet) {
				tx.ClearRange(children(sp.index(keyPieces, lead)))
			},
			"a gap": func(tx kv.Tx, sp space, _ *index, _ *pieceSet) { tx.Clear(sp.piece(lead, 7)) },
			"too far": func(tx kv.Tx, _ space, _ *index, set *pieceSet) {
				tx.Set(set.pieces[3].key, set.pieces[1].stored)
			},
			"built": func(tx kv.Tx, sp space, ix *index, _ *pieceSet) {
				rec := ix.rec
				rec.seq = rec.fresh
				tx.Set(sp.info(ix.def.signature), rec.encode())
			},
			"ends elsewhere": func(tx kv.Tx, sp space, ix *index, set *pieceSet) {
				rec := ix.rec
				rec.fresh = set.pieces[0].end
				tx.Set(sp.info(ix.def.signature), rec.encode())
			},
		} {
			stop := errors.New("enough")
			err := b.db.Transact(t.Context(), func(tx *storage.Tx) error {
				s := tx.Snapshot()
				indexes, err := readRecords(tx.KV(), spaceOf(s))
				must(t, err)
				set, err := readPieces(tx.KV(), spaceOf(s), lead)
				must(t, err)
				harm(tx.KV(), spaceOf(s), indexes[0], set)
				indexes, err = readRecords(tx.KV(), spaceOf(s))
				must(t, err)
				found, err := checkPieces(s, indexes)
				must(t, err)
				if len(found) == 0 || found[0].Invariant != 10 {
					t.Errorf("%s: %v", name, found)
				}
				return stop
			})
			want(t, name, err, stop)
		}
		b.checkStored(t)
	})
}

func FuzzPieces(f *testing.F) {
	set := pieceSet{design: "_design/d"}
	c := piece{end: storage.Seq{Incarnation: 1}, total: 300}
	f.Add(set.encode(), c.moved(storage.Seq{}, 2).stored)
	f.Fuzz(func(t *testing.T, header, value []byte) {
		var set, again pieceSet
		if err := set.parse(header); err == nil {
			must(t, again.parse(set.encode()))
			want(t, "set", again, set)
		}
		var c piece
		if err := c.parse(value); err == nil {
			if !bytes.Equal(c.stored, value) || c.done >= 0 && c.total >= 0 && len(c.encode()) > len(value) {
				t.Errorf("%+v of %x", c, value)
			}
		}
	})
}
