package storage

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/pebblekv"
)

func TestCompaction(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		var old []string
		for i := range 8 {
			rev := ""
			for n := range 30 {
				rev = put(
					t,
					db,
					fmt.Sprint("doc", i),
					rev,
					fmt.Sprintf(`{"n":%d,"filler":%q}`, n, strings.Repeat("x", 100)),
				)
				if n == 20 {
					old = append(old, rev)
				}
			}
		}
		for i, rev := range old {
			open(t, db, fmt.Sprint("doc", i), docread.OpenOptions{Rev: parsedRev(t, rev)})
		}
		must(t, db.Compact(t.Context()))
		for i, rev := range old {
			_, err := db.Open(t.Context(), fmt.Sprint("doc", i), docread.OpenOptions{Rev: parsedRev(t, rev)})
			wantError(t, err, compat.ErrMissing)
			d := open(t, db, fmt.Sprint("doc", i), docread.OpenOptions{RevsInfo: true})
			if len(d.RevsInfo) != 30 || d.RevsInfo[1].Status != docread.RevMissing {
				t.Errorf("doc%d: %v", i, d.RevsInfo)
			}
		}
		must(t, db.view(t.Context(), func(d *dbRead) error {
			sizes, err := d.Stats(keyspace.HistorySize, keyspace.HistoryRows)
			want(t, "history", sizes, []int64{0, 0})
			return err
		}))
	})
}

// TestCompactionOfLargeBodies: entries in several chunks, more of them than fit one transaction of
// the compaction.
func TestCompactionOfLargeBodies(t *testing.T) {
	kvtest.Long(t)
	onEngines(t, func(t *testing.T, db *DB) {
		rev := ""
		for i := range 14 {
			rev = put(t, db, "doc", rev, fmt.Sprintf(`{"n":%d,"s":%q}`, i, strings.Repeat("x", 500_000)))
		}
		must(t, db.Compact(t.Context()))
		must(t, db.view(t.Context(), func(d *dbRead) error {
			rows, err := countKeys(d.R, d.Keys.Sub(nil, keyspace.TagHistory), nil, nil)
			want(t, "keys of replaced revisions", rows, 0)
			return err
		}))
	})
}

// TestCompactionOnASlowStore: whatever of its batches and lists is too much for a snapshot or a
// transaction is done by parts.
func TestCompactionOnASlowStore(t *testing.T) {
	var slow atomic.Bool
	var updates atomic.Int64
	k := faultkv.New(memkv.New(), faultkv.Plan{
		TooOld: func(r faultkv.Read) bool { return slow.Load() && !r.Update && r.N > 100 },
		Commit: func(_, run int) faultkv.Outcome {
			switch {
			case !slow.Load():
			case run > 1:
				return faultkv.TooLarge
			case updates.Add(1) <= 3: // of 100, 25 and 6 entries, each again with half of that
				return faultkv.TooOld
			}
			return faultkv.Commit
		},
	})
	s := openStore(t, k)
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	db := s.DB("db")
	must(t, db.Settings().SetPurgedInfosLimit(t.Context(), 250))
	rev := ""
	for n := range 301 {
		rev = put(t, db, "doc", rev, fmt.Sprintf(`{"n":%d}`, n))
	}
	for i := range 260 {
		_, err := db.Purge(t.Context(), []IDRevs{{ID: fmt.Sprint("gone", i), Revs: []compat.Rev{{Pos: 1, Hash: "x"}}}})
		must(t, err)
	}
	slow.Store(true)
	must(t, db.Compact(t.Context()))
	slow.Store(false)
	must(t, db.view(t.Context(), func(d *dbRead) error {
		rows, err := countKeys(d.R, d.Keys.Sub(nil, keyspace.TagHistory), nil, nil)
		want(t, "keys of replaced revisions", rows, 0)
		return err
	}))
	infos, err := db.Purges().Remembered(t.Context())
	must(t, err)
	want(t, "purges remembered", len(infos), 250)
	if n := updates.Load(); n < 3+7+3 { // from one entry on they double
		t.Errorf("%d transactions: after a failure they were as large as before", n)
	}
}

// TestSizes: the size of the file is at least the live data right after every write, grows with
// replaced revisions and loses them in a compaction.
func TestSizes(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		sizes := func(when string) (file, active int64) {
			info, err := db.Info(t.Context())
			must(t, err)
			if info.SizeFile < info.SizeActive {
				t.Errorf("%s: file %d, active %d", when, info.SizeFile, info.SizeActive)
			}
			return info.SizeFile, info.SizeActive
		}
		sizes("empty")
		revs := make([]string, 3)
		write := func(n int) {
			for i, length := range []int{100, 1000, 100_000} { // the last one's body is apart
				revs[i] = put(
					t,
					db,
					fmt.Sprint("doc", i),
					revs[i],
					fmt.Sprintf(`{"n":%d,"s":%q}`, n, strings.Repeat("x", length)),
				)
			}
		}
		write(0)
		file, active := sizes("written")
		if active < 101_100 {
			t.Errorf("active is %d", active)
		}
		for n := range 3 {
			write(n + 1)
			replaced, live := sizes("updated")
			if replaced < file+101_100 || live != active+int64(3*16*(n+1)) { // 16 bytes for each ancestor of a leaf
				t.Errorf("after %d updates file %d, active %d; it was %d, %d", n+1, replaced, live, file, active)
			}
			file = replaced
		}
		must(t, db.Compact(t.Context()))
		compacted, live := sizes("compacted")
		if compacted != live || compacted > file-3*101_100 {
			t.Errorf("compacted: file %d, active %d; it was %d", compacted, live, file)
		}
		for i := range 3 {
			remove(t, db, fmt.Sprint("doc", i), revs[i])
		}
		deleted, _ := sizes("deleted")
		must(t, db.Compact(t.Context()))
		if file, _ := sizes("deleted and compacted"); file >= deleted {
			t.Errorf("deleted: file %d, compacted: %d", deleted, file)
		}
	})
}

// TestSizesAfterStart: a store that was just opened tells the sizes that it told before.
func TestSizesAfterStart(t *testing.T) {
	dir := t.TempDir()
	var before *Info
	for n := range 2 {
		k, err := pebblekv.Open(dir, pebblekv.Options{})
		must(t, err)
		s, err := Open(t.Context(), Options{KV: k, Manual: true})
		must(t, err)
		db := s.DB("db")
		if n == 0 {
			must(t, s.Create(t.Context(), "db", CreateOptions{}))
			rev := put(t, db, "doc", "", `{"n":1}`)
			put(t, db, "doc", rev, `{"n":2}`)
		}
		info, err := db.Info(t.Context())
		must(t, err)
		if n == 0 {
			before = info
		}
		want(t, "file and active", []int64{info.SizeFile, info.SizeActive}, []int64{before.SizeFile, before.SizeActive})
		must(t, s.Close())
		must(t, k.Close())
	}
	if before.SizeFile <= before.SizeActive || before.SizeActive <= 0 {
		t.Errorf("file %d, active %d", before.SizeFile, before.SizeActive)
	}
}

// TestCompactionForgetsPurges: requests above the limit are forgotten, the oldest first.
func TestCompactionForgetsPurges(t *testing.T) {
	db := newTestDB(t, CreateOptions{})
	must(t, db.Settings().SetPurgedInfosLimit(t.Context(), 3))
	for i := range 7 {
		_, err := db.Purge(t.Context(), []IDRevs{{ID: fmt.Sprint("doc", i), Revs: []compat.Rev{{Pos: 1, Hash: "x"}}}})
		must(t, err)
	}
	must(t, db.Compact(t.Context()))
	infos, err := db.Purges().Remembered(t.Context())
	must(t, err)
	var ids []string
	for _, info := range infos {
		ids = append(ids, info.ID)
	}
	want(t, "remembered", ids, []string{"doc4", "doc5", "doc6"})
}

// filed is a store that leaves what is deleted in its files until CompactRange.
type filed struct {
	kv.Store
	asked []string
}

func (f *filed) CompactRange(_ context.Context, begin, end []byte) error {
	f.asked = append(f.asked, string(begin)+" to "+string(end))
	return nil
}

func TestAutomaticCompaction(t *testing.T) {
	k := &filed{Store: memkv.New()}
	defer k.Close()
	s, err := Open(t.Context(), Options{KV: k, Compaction: CompactionPolicy{MinHistory: 3000}})
	must(t, err)
	defer s.Close()
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	db := s.DB("db")
	history := func() (rows int64) {
		must(t, db.view(t.Context(), func(d *dbRead) error {
			n, err := d.Stats(keyspace.HistoryRows)
			rows = n[0]
			return err
		}))
		return rows
	}
	rev := ""
	for i := range 3 {
		rev = put(t, db, "doc", rev, fmt.Sprintf(`{"n":%d,"s":%q}`, i, strings.Repeat("x", 200)))
	}
	s.compactAutomatically(t.Context())
	want(t, "replaced revisions below the threshold", history(), 2)
	for i := range 20 {
		rev = put(t, db, "doc", rev, fmt.Sprintf(`{"n":%d,"s":%q}`, i, strings.Repeat("x", 200)))
	}
	s.compactAutomatically(t.Context())
	want(t, "replaced revisions", history(), 0)
	want(t, "files compacted without being asked", len(k.asked), 0)
	wantError(t, s.DB("none").StartCompact(t.Context()), compat.ErrNoDatabase)
	must(t, db.StartCompact(t.Context()))
	for range 1000 {
		info, err := db.Info(t.Context())
		must(t, err)
		if !info.CompactRunning {
			must(t, db.view(t.Context(), func(d *dbRead) error {
				begin, end := keyspace.Children([]byte(d.Keys))
				want(t, "files compacted", k.asked, []string{string(begin) + " to " + string(end)})
				return nil
			}))
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("compaction does not end")
}
