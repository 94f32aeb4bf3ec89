package autopurge

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/storage/storagetest"
	"github.com/settee-db/settee/storage/verify"
)

// world is a store with a database, its clock, and what is known of when documents were written.
type world struct {
	engine  kv.Store
	store   *storage.Store
	db      *storage.DB
	now     int64
	set     Settings
	written map[string]int64 // second of the last update of a document
	newest  int64            // second of an update
	behaved bool             // no clock went back
	events  [4]int
}

func newWorld(t storagetest.T, engine kv.Store) *world {
	w := &world{engine: engine, now: 1000, written: map[string]int64{}, behaved: true}
	w.set = Settings{On: true, Rate: 1 << 40, Batch: 3, Due: func(time.Time, time.Time) bool { return true }}
	w.open(t)
	storagetest.Must(t, w.store.Create(during(t), "db", storage.CreateOptions{}))
	return w
}

// during is the context of a test.
func during(t storagetest.T) context.Context {
	return t.(interface{ Context() context.Context }).Context()
}

// open is a server that starts.
func (w *world) open(t storagetest.T) {
	s, err := storage.Open(during(t), storage.Options{KV: w.engine, Manual: true, Now: w.clock})
	storagetest.Must(t, err)
	w.store, w.db = s, s.DB("db")
}

func (w *world) clock() time.Time { return time.Unix(w.now, 5) }

func (w *world) sweeper() *Sweeper {
	return New(Options{
		Store: w.store, Log: slog.New(slog.DiscardHandler), Now: w.clock,
		Settings: func() Settings { return w.set }, Count: func(e Event, n int) { w.events[e] += n },
	})
}

// wrote notes an update of documents.
func (w *world) wrote(ids ...string) {
	for _, id := range ids {
		w.written[id] = w.now
	}
	w.behaved = w.behaved && w.now >= w.newest
	w.newest = max(w.newest, w.now)
}

// replicate writes a revision by its line, as "2-b,a", deleted with a ! at the end.
func (w *world) replicate(t storagetest.T, id, line string) {
	line, deleted := strings.CutSuffix(line, "!")
	d := storagetest.Doc(t, id, "", `{}`)
	d.Deleted = deleted
	start, hashes, _ := strings.Cut(line, "-")
	d.Revs.IDs = strings.Split(hashes, ",")
	_, err := fmt.Sscan(start, &d.Revs.Start)
	storagetest.Must(t, err)
	_, err = w.db.Update(during(t), []*compat.Document{d}, storage.UpdateOptions{Replicated: true})
	storagetest.Must(t, err)
	w.wrote(id)
}

// feed is what there is: the revisions of each document, with a ! if it is deleted.
func (w *world) feed(t storagetest.T) map[string]string {
	rows := map[string]string{}
	all := storage.ChangesOptions{Limit: -1, AllLeaves: true}
	_, err := w.db.Feed().Changes(during(t), all, func(c *storage.Change) error {
		rows[c.ID] = fmt.Sprint(c.Revs)
		if c.Deleted {
			rows[c.ID] += "!"
		}
		return nil
	})
	storagetest.Must(t, err)
	return rows
}

// sequences are the places of the documents in the feed. They tell of an update that leaves the
// leaves as they are: one with the body of a revision that was known without.
func (w *world) sequences(t storagetest.T) map[string]string {
	rows := map[string]string{}
	all := storage.ChangesOptions{Limit: -1}
	_, err := w.db.Feed().Changes(during(t), all, func(c *storage.Change) error {
		rows[c.ID] = fmt.Sprint(c.Seq)
		return nil
	})
	storagetest.Must(t, err)
	return rows
}

// sweep makes a whole pass, or the first steps of one.
func (w *world) sweep(t storagetest.T, steps int) {
	s := w.sweeper()
	for range steps {
		_, err := s.Step(during(t), func([]byte) {})
		storagetest.Must(t, err)
		if s.pass == nil {
			return
		}
	}
}

// TestPurgesWhatIsDue: after a pass, whole or not, documents are gone that are deleted and old
// enough, and no other one, whatever clocks do, on a store that fails at random and whose servers
// end. After a whole one, with clocks that behave, all of them are.
func TestPurgesWhatIsDue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		faults := faultkv.Rates{Conflict: 0.1, UnknownAborted: 0.05, UnknownCommitted: 0.05}
		engine := faultkv.New(memkv.New(), faultkv.Random(rapid.Uint64().Draw(t, "seed"), faults))
		w := newWorld(t, engine)
		w.set.Batch = rapid.Int64Range(1, 5).Draw(t, "batch")
		w.replicate(t, "first", "1-a") // times before it are unknown
		w.now += 10
		id := func(t *rapid.T) string { return fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "id")) }
		write := func(t *rapid.T) {
			lines := []string{"1-a", "2-b,a", "2-c,a", "3-d,b,a", "3-e,c,a", "1-z", "4-f,e,c,a"}
			line := rapid.SampledFrom(lines).Draw(t, "line")
			if rapid.IntRange(0, 2).Draw(t, "deletes") > 0 {
				line += "!"
			}
			i := id(t)
			before := w.sequences(t)[i]
			was := w.written[i]
			if w.replicate(t, i, line); w.sequences(t)[i] == before {
				w.written[i] = was // it was known, and so was its body
			}
		}
		pass := func(t *rapid.T, steps int) {
			before := w.feed(t)
			seconds := rapid.Int64Range(-20, 200).Draw(t, "life")
			own, servers := fmt.Sprint(seconds, "_s"), fmt.Sprint(seconds+1000, "_s")
			if seconds <= 0 || rapid.Bool().Draw(t, "of the server") {
				own, servers = "", own
			}
			forever := rapid.IntRange(0, 9).Draw(t, "for ever") == 0
			if forever {
				own = Forever
			}
			own, servers = strings.ReplaceAll(own, " ", ""), strings.ReplaceAll(servers, " ", "")
			storagetest.Must(t, w.db.Settings().SetAutoPurge(t.Context(), own))
			w.set.Life = servers
			w.set.DryRun = rapid.IntRange(0, 4).Draw(t, "dry") == 0
			w.sweep(t, steps)
			after := w.feed(t)
			for id, row := range before {
				now, there := after[id]
				dead := strings.HasSuffix(row, "!")
				old := w.now - w.written[id]
				switch {
				case there && now != row:
					t.Fatalf("%s was %s and is %s", id, row, now)
				case !there && (!dead || old < seconds || forever || w.set.DryRun):
					t.Fatalf("%s, %s of %d, is gone at %d with a life of %d", id, row, w.written[id], w.now, seconds)
				case there && dead && w.behaved && steps > 1000 && old > seconds+2 &&
					!forever && !w.set.DryRun && seconds != 0:
					t.Fatalf("%s, %s of %d, is there at %d with a life of %d", id, row, w.written[id], w.now, seconds)
				case !there:
					delete(w.written, id)
					w.wrote()
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": write, "again": write, "more": write,
			"request": func(t *rapid.T) {
				i := id(t)
				before := w.feed(t)[i]
				_, err := w.db.Purge(t.Context(), []storage.IDRevs{{ID: i, Revs: []compat.Rev{{Pos: 1, Hash: "z"}}}})
				storagetest.Must(t, err)
				if w.wrote(); w.feed(t)[i] != before {
					w.wrote(i)
				}
			},
			"tick":    func(t *rapid.T) { w.now += rapid.Int64Range(1, 40).Draw(t, "seconds") },
			"clock":   func(t *rapid.T) { w.now = max(1, w.now+rapid.Int64Range(-30, 30).Draw(t, "step")) },
			"pass":    func(t *rapid.T) { pass(t, 10_000) },
			"part":    func(t *rapid.T) { pass(t, rapid.IntRange(1, 5).Draw(t, "steps")) },
			"restart": func(t *rapid.T) { storagetest.Must(t, w.store.Close()); w.open(t) },
			"compact": func(t *rapid.T) { storagetest.Must(t, w.db.Compact(t.Context())) },
			"older":   func(t *rapid.T) { age(t, w) },
		})
		violations, err := verify.Check(t.Context(), engine, nil)
		storagetest.Must(t, err)
		storagetest.Want(t, "violations", violations, "[]")
		storagetest.Must(t, w.store.Close())
	})
}

// age takes the index away, as a database of an older version has none.
func age(t *rapid.T, w *world) {
	_, err := w.engine.Update(t.Context(), func(tx kv.Tx) error {
		value, err := tx.Get(keyspace.RecordKey("db"))
		if err != nil {
			return err
		}
		rec, err := keyspace.ParseRecord(value)
		tx.ClearRange(keyspace.Children(keyspace.NewSpace(rec.Prefix).Sub(nil, keyspace.TagTombstones)))
		rec.Tombstones = false
		tx.Set(keyspace.RecordKey("db"), rec.Encode())
		return err
	})
	storagetest.Must(t, err)
}

// TestReadsAreThoseOfWhatIsDue: however many living documents there are, a pass reads what is due.
func TestReadsAreThoseOfWhatIsDue(t *testing.T) {
	reads := func(living int) int64 {
		count := kvtest.NewCounting(memkv.New())
		w := newWorld(t, count)
		w.set.Batch = 500
		for i := range living {
			w.replicate(t, fmt.Sprint("alive", i), "1-a")
			if i%(living/10) == 0 {
				w.replicate(t, fmt.Sprint("dead", i), "1-a!")
			}
			w.now++
		}
		w.now += 10_000
		w.set.Life = "5000_s"
		storagetest.Must(t, w.db.Compact(t.Context()))
		count.Reset()
		w.sweep(t, 100)
		c := count.Counts()
		storagetest.Want(t, "purged", w.events[Purged], 10)
		storagetest.Must(t, w.store.Close())
		return c.Gets + c.GetManys + c.Ranges + c.Rows
	}
	few, many := reads(100), reads(1600)
	if many > few+few/4 || few > 300 {
		t.Errorf("%d reads with 100 living documents, %d with 1600", few, many)
	}
	t.Logf("%d reads with 100 living documents, %d with 1600", few, many)
}

// TestManyLeaves: documents with more revisions than a batch has go whole, and batches that do not
// fit a transaction become smaller.
func TestManyLeaves(t *testing.T) {
	w := newWorld(t, wrapkv.WithLimits(memkv.New(), kv.Limits{TransactionSize: 1_200_000}, time.Now))
	w.replicate(t, "first", "1-a")
	w.now += 10
	for i := range 1200 {
		w.replicate(t, "many", fmt.Sprintf("2-%032x,a!", i))
	}
	for i := range 300 {
		w.replicate(t, fmt.Sprint("long", i, strings.Repeat("x", 2000)), "1-a!")
	}
	w.replicate(t, "alive", "1-a")
	w.now += 100
	w.set.Life, w.set.Batch = "10_s", 1000
	w.sweep(t, 1000)
	storagetest.Want(t, "left", w.feed(t), "map[alive:[1-a] first:[1-a]]")
	storagetest.Want(t, "events", w.events, "[1 1 1 301]")
	infos, err := w.db.Purges().Remembered(t.Context())
	storagetest.Must(t, err)
	revs := 0
	for _, info := range infos {
		if info.ID == "many" {
			revs += len(info.Revs)
		}
	}
	storagetest.Want(t, "remembered revisions", revs, 1200)
	storagetest.Must(t, w.store.Close())
}

// TestSkipped: databases and documents that are to be left alone are.
func TestSkipped(t *testing.T) {
	w := newWorld(t, memkv.New())
	w.replicate(t, "first", "1-a")
	w.now += 10
	w.replicate(t, "a", "1-a!")
	w.replicate(t, "b", "1-a!")
	w.now += 100
	w.set.Life = "10_s"
	w.set.SkipDB = func(name string) bool { return name == "db" }
	w.sweep(t, 100)
	storagetest.Want(t, "documents", len(w.feed(t)), 3)
	w.set.SkipDB, w.set.SkipDoc = nil, func(id string) bool { return id == "a" }
	w.sweep(t, 100)
	storagetest.Want(t, "documents", w.feed(t), "map[a:[1-a]! first:[1-a]]")
	w.set.On = false
	w.set.SkipDoc = nil
	w.sweep(t, 10)
	storagetest.Want(t, "documents", len(w.feed(t)), 2)
	storagetest.Must(t, w.store.Close())
}

// TestFault: the log says once why nothing is purged, and again when the reason comes back.
func TestFault(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, memkv.New())
	s := w.sweeper()
	s.o.Log = slog.New(slog.NewTextHandler(&log, nil))
	for _, c := range []struct {
		fault string
		lines int
	}{{"broken", 1}, {"broken", 1}, {"other", 2}, {"", 2}, {"other", 3}} {
		w.set.Fault = c.fault
		_, err := s.Step(t.Context(), nil)
		storagetest.Must(t, err)
		storagetest.Want(t, "lines", strings.Count(log.String(), "deleted documents are not purged"), c.lines)
		storagetest.Want(t, "a pass is under way", s.pass != nil && c.fault != "", false)
	}
	storagetest.Must(t, w.store.Close())
}

// TestStepsWait: what is purged in a second has a bound.
func TestStepsWait(t *testing.T) {
	w := newWorld(t, memkv.New())
	w.replicate(t, "first", "1-a")
	w.now += 10
	for i := range 10 {
		w.replicate(t, fmt.Sprint(i), "1-a!")
	}
	w.now += 100
	w.set.Life, w.set.Rate, w.set.Batch, w.set.Look = "10_s", 2, 4, time.Minute
	s := w.sweeper()
	var waits []time.Duration
	var shown []string
	for len(waits) == 0 || s.pass != nil {
		again, err := s.Step(t.Context(), func(task []byte) { shown = append(shown, string(task)) })
		storagetest.Must(t, err)
		waits = append(waits, again.Sub(w.clock()))
	}
	storagetest.Want(t, "waits", waits, "[0s 2s 2s 1s 0s]")
	storagetest.Want(t, "task", shown[1], `{"type":"auto_purge","database":"db","databases_done":1,"total_databases":1,"docs_purged":4,"dry_run":false}`)
	storagetest.Want(t, "task at the end", slices.Compact(shown[4:]), "[{}]")
	storagetest.Must(t, w.store.Close())
}
