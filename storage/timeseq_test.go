package storage

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/storage/timeseq"
)

// timesModel is a database with the seconds of its last updates, as they were written down.
type timesModel struct {
	store   kv.Store
	s       *Store
	db      *DB
	now     int64
	revs    map[string]string // of live documents
	seconds map[string]int64  // of documents; -1: before times were forgotten
	behaved bool              // no clock went back since then
	newest  int64             // second of an update since then
	oldest  int64
	updates [][2]int64 // second and number of updates
}

// open is a server that starts.
func (m *timesModel) open(t *rapid.T) {
	now := func() time.Time { return time.Unix(m.now, 5) }
	s, err := Open(t.Context(), Options{KV: m.store, Manual: true, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	m.s, m.db = s, s.DB("db")
	s.sizes.FoldItems, s.sizes.ExactTimes, s.sizes.SeqBlockRows = 10, 8, 8
}

func (m *timesModel) wrote(n int64, ids ...string) {
	for _, id := range ids {
		m.seconds[id] = m.now
	}
	m.behaved = m.behaved && m.now >= m.newest
	if m.oldest < 0 {
		m.oldest = m.now
	}
	m.newest = max(m.newest, m.now)
	m.updates = append(m.updates, [2]int64{m.now, n})
}

// write stores or deletes a document.
func (m *timesModel) write(t *rapid.T) {
	id := fmt.Sprint(rapid.IntRange(0, 30).Draw(t, "id"))
	doc := &compat.Document{ID: id, HasID: true, Deleted: m.revs[id] != "" && rapid.Bool().Draw(t, "deletes")}
	doc.Body, _ = compat.NewBody([]byte(`{}`))
	if rev, ok := compat.ParseRev(m.revs[id]); ok == nil {
		doc.Revs = compat.RevPath{Start: rev.Pos, IDs: []string{rev.Hash}}
	}
	results, err := m.db.Update(t.Context(), []*compat.Document{doc}, UpdateOptions{})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	m.revs[id] = results[0].Rev.String()
	if doc.Deleted {
		delete(m.revs, id)
	}
	m.wrote(1, id)
}

// purge takes a document out of the feed, or asks for one that is not there.
func (m *timesModel) purge(t *rapid.T) {
	id := fmt.Sprint(rapid.IntRange(0, 30).Draw(t, "id"))
	if m.revs[id] == "" {
		return
	}
	rev, _ := compat.ParseRev(m.revs[id])
	if _, err := m.db.Purge(t.Context(), []IDRevs{{ID: id, Revs: []compat.Rev{rev}}}); err != nil {
		t.Fatal(err)
	}
	delete(m.revs, id)
	delete(m.seconds, id)
	m.wrote(1)
}

// coarse is how many seconds stretches may have that hold a second.
func (m *timesModel) coarse(second int64) (coarse int64) {
	for width, age := int64(2), m.s.sizes.ExactTimes; m.newest-(second-width) >= age; width, age = 2*width, 2*age {
		coarse = width
	}
	return coarse
}

// since compares the changes since a time with what the clocks said.
func (m *timesModel) since(t *rapid.T) {
	second := m.newest + rapid.Int64Range(-120, 3).Draw(t, "since")
	if len(m.seconds) > 0 && rapid.Bool().Draw(t, "since one") {
		ids := make([]string, 0, len(m.seconds))
		for id := range m.seconds {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		second = max(0, m.seconds[rapid.SampledFrom(ids).Draw(t, "of")]+rapid.Int64Range(-1, 3).Draw(t, "after"))
	}
	second = max(second, 0)
	from, err := m.db.Feed().Begin(t.Context(), compat.Since{Timed: true, Time: second})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]bool)
	_, err = m.db.Feed().Changes(t.Context(), ChangesOptions{Since: from.Seq, Limit: -1}, func(c *Change) error {
		got[c.ID] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, at := range m.seconds {
		switch {
		case at >= second && !got[id]:
			t.Fatalf("since %d: %s of %d is missing", second, id, at)
		case got[id] && m.behaved && m.oldest >= 0 && second > m.oldest+2+m.coarse(m.oldest) &&
			at < second-2-m.coarse(second-2):
			t.Fatalf("since %d: %s of %d is there; the newest is of %d", second, id, at, m.newest)
		}
	}
}

// histogram compares what is counted with the updates that were made, while clocks behaved; to a
// stretch exactly.
func (m *timesModel) histogram(t *rapid.T) {
	bins, err := m.db.Feed().Times(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all, counted, made uint64
	for _, u := range m.updates {
		made += uint64(u[1])
	}
	for _, b := range bins {
		all += b.Updates
	}
	if (len(bins) > 0) != (m.oldest >= 0) || len(bins) > 0 && all != made {
		t.Fatalf("%v of %d updates", bins, made)
	}
	for i := 1; i < len(bins) && m.behaved; i++ {
		counted += bins[i-1].Updates
		var least, most uint64
		for _, u := range m.updates {
			if u[0] < bins[i].Second {
				most += uint64(u[1])
			}
			if u[0] < bins[i].Second-m.coarse(bins[i].Second) {
				least += uint64(u[1])
			}
		}
		if counted < least || counted > most {
			t.Fatalf("%d to %d updates before %d, counted are %v", least, most, bins[i].Second, bins)
		}
	}
}

// TestChangesSinceTimes: whatever clocks do, between restarts, compactions and purges, the changes
// since a time have all that was committed then or later; where they went on, hardly more.
func TestChangesSinceTimes(t *testing.T) {
	whole := t
	rapid.Check(t, func(t *rapid.T) {
		m := &timesModel{
			store: wrapkv.Prefetching(memkv.New()), now: rapid.Int64Range(1, 40_000).Draw(t, "begin"),
			revs: map[string]string{}, seconds: map[string]int64{}, behaved: true, oldest: -1,
		}
		m.open(t)
		if err := m.s.Create(t.Context(), "db", CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": m.write, "again": m.write, "more": func(t *rapid.T) { m.now++; m.write(t) },
			"purge":     m.purge,
			"since":     m.since,
			"histogram": m.histogram,
			"tick":      func(t *rapid.T) { m.now += rapid.Int64Range(1, 4).Draw(t, "seconds") },
			"idle":      func(t *rapid.T) { m.now += rapid.Int64Range(10, 20_000).Draw(t, "idle") },
			"clock": func(t *rapid.T) {
				m.now = max(1, m.now+rapid.Int64Range(-50, 50).Draw(t, "step"))
			},
			"restart": func(t *rapid.T) { must(t, m.s.Close()); m.open(t) },
			"compact": func(t *rapid.T) { must(t, m.db.Compact(t.Context())) },
			"forget": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "forgets") > 0 {
					return
				}
				must(t, m.db.Feed().ForgetTimes(t.Context()))
				for id := range m.seconds {
					m.seconds[id] = -1
				}
				for i := range m.updates {
					m.updates[i][0] = -1
				}
				m.behaved, m.oldest, m.newest = true, -1, 0
			},
		})
		must(t, m.s.Close())
		checkSized(whole, m.store, m.s.sizes)
	})
}

// TestMarksAreFew: a database that is written to in every second keeps as many marks as package
// timeseq says.
func TestMarksAreFew(t *testing.T) {
	const seconds = 4000
	now := int64(1_000_000_000)
	s := openStore(t, memkv.New())
	s.now = func() time.Time { return time.Unix(now, 0) }
	s.sizes.ExactTimes, s.sizes.FoldItems = 64, 2000
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	db := s.DB("db")
	rev := ""
	for n := range seconds {
		rev = put(t, db, "a", rev, fmt.Sprintf(`{"n":%d}`, n))
		now++
	}
	marks, doublings := 0, 0
	must(t, db.view(t.Context(), func(d *dbRead) error {
		return d.Times().Each(d.R, func(timeseq.Mark) error { marks++; return nil })
	}))
	for age := int64(64); age < seconds; age *= 2 {
		doublings++
	}
	if most := 64 + doublings*33; marks > most || marks < most/2 {
		t.Errorf("%d marks after %d seconds, want at most %d", marks, seconds, most)
	}
}
