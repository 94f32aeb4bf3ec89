package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/replaced"
	"github.com/settee-db/settee/storage/verify"
)

// pastStore is a store whose databases keep what is replaced by lives of the test, on a clock of
// its own.
type pastStore struct {
	*DB
	now   time.Time
	lives map[string]int64 // seconds, by Record.History
	bytes int64
}

func newPast(t testing.TB, manual bool) *pastStore {
	engine := memkv.New()
	p := &pastStore{now: time.Unix(1_800_000_000, 0), bytes: 1 << 30}
	p.lives = map[string]int64{"": 0, "off": 0, "short": 10, "long": 1000}
	s, err := Open(context.Background(), Options{
		KV: engine, Manual: manual, Now: func() time.Time { return p.now },
	})
	must(t, err)
	s.SetHooks(Hooks{History: func(own string) History { return History{p.lives[own], p.bytes} }})
	t.Cleanup(func() {
		must(t, s.Close())
		checkStore(t, engine)
	})
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	p.DB = s.DB("db")
	return p
}

// size is that of all replaced revisions.
func (p *pastStore) size(t testing.TB) (bytes, rows int64) {
	must(t, p.view(t.Context(), func(d *dbRead) error {
		sizes, err := d.Stats(keyspace.HistorySize, keyspace.HistoryRows)
		if err == nil {
			bytes, rows = sizes[0], sizes[1]
		}
		return err
	}))
	return bytes, rows
}

// forget removes all that is due.
func (p *pastStore) forget(t testing.TB) (all int) {
	for more := true; more; {
		var done int
		var err error
		done, more, err = p.ForgetReplaced(t.Context())
		must(t, err)
		all += done
	}
	return all
}

// pastRev is a revision that was replaced.
type pastRev struct {
	id   string
	rev  compat.Rev
	body string
	at   int64 // milliseconds; 0: nothing was kept for a time then
}

// there tells whether it can be read, and holds what is read to its body.
func (r *pastRev) there(t testing.TB, p *pastStore) bool {
	d, err := p.Open(t.Context(), r.id, docread.OpenOptions{Rev: r.rev})
	if errors.Is(err, compat.ErrMissing) {
		return false
	}
	must(t, err)
	want(t, "body", string(d.Body), r.body)
	for _, a := range d.Attachments {
		_, err := readAtt(t, p.DB, r.id, r.rev.String(), a.Name, AttachmentRange{To: -1})
		must(t, err)
	}
	return true
}

// pastModel is the database as a list.
type pastModel struct {
	current map[string]string // the last revisions, "" for none
	deleted map[string]bool   // which are tombstones
	bodies  map[string]string
	past    []*pastRev
}

// TestHistoryAgainstModel: random edits, deletions, purges, compactions and passes on a clock that
// steps, while the life and the most bytes change: what can be read of what was replaced, with its
// attachments, is what a list says. Each history ends with a compaction and a pass that have something
// to remove.
func TestHistoryAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newPast(t, true)
		m := &pastModel{
			current: map[string]string{}, deleted: map[string]bool{}, bodies: map[string]string{},
		}
		draw := func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(rt, what) }
		must(t, p.Settings().SetHistory(t.Context(), slices.Sorted(maps.Keys(p.lives))[draw(4, "first")]))
		for step := range draw(40, "steps") {
			id := fmt.Sprint("d", draw(3, "doc"))
			switch draw(10, "what") {
			case 0, 1, 2, 3:
				m.edit(t, p, id, fmt.Sprintf(`{"n":%d,"x":%q}`, step, strings.Repeat("y", draw(2, "long")*70_000)),
					draw(3, "attachment"), draw(6, "deleted") == 0)
			case 4:
				m.purge(t, p, id)
			case 5:
				p.now = p.now.Add([]time.Duration{time.Millisecond, time.Second, 10 * time.Second,
					10*time.Second + time.Millisecond, 1000 * time.Second}[draw(5, "clock")])
			case 6:
				own := slices.Sorted(maps.Keys(p.lives))[draw(4, "life")]
				must(t, p.Settings().SetHistory(t.Context(), own))
			case 7:
				p.bytes = []int64{0, 1000, 71_000, 1 << 30}[draw(4, "bytes")]
			case 8:
				must(t, p.Compact(t.Context()))
				m.compacted(t, p)
			case 9:
				m.passed(t, p)
			}
		}
		must(t, p.Settings().SetHistory(t.Context(), "off"))
		m.edit(t, p, "d0", `{"n":"kept"}`, 0, false)
		m.edit(t, p, "d0", `{"n":"kept again"}`, 0, false)
		must(t, p.Compact(t.Context()))
		if m.compacted(t, p) == 0 {
			t.Error("the compaction has removed nothing")
		}
		must(t, p.Settings().SetHistory(t.Context(), "short"))
		m.edit(t, p, "d0", `{"n":"not kept"}`, 0, false)
		p.now = p.now.Add(time.Hour)
		if m.passed(t, p) == 0 {
			t.Error("the pass has removed nothing")
		}
	})
}

// edit stores a revision, with a new attachment, the same one as before, or none.
func (m *pastModel) edit(t testing.TB, p *pastStore, id, body string, attachment int, deletes bool) {
	before, live := m.current[id], m.current[id] != "" && !m.deleted[id]
	d := doc(t, id, "", body)
	if live {
		d = doc(t, id, before, body)
	}
	d.Deleted = deletes && live
	if attachment == 1 {
		data := fmt.Appendf(nil, "%900d", len(m.past))
		d.Attachments = []compat.Attachment{upload(t, p.Attachments().Uploads(), "a", data, nil)}
	} else if attachment == 2 && live && len(open(t, p.DB, id, docread.OpenOptions{}).Attachments) > 0 {
		d.Attachments = []compat.Attachment{stubOf("a")}
	}
	rev := update(t, p.DB, UpdateOptions{}, d)[0]
	if before != "" {
		m.replace(p, id, before)
	}
	m.current[id], m.bodies[id], m.deleted[id] = rev, body, d.Deleted
}

func (m *pastModel) replace(p *pastStore, id, rev string) {
	r := &pastRev{id: id, body: m.bodies[id]}
	r.rev, _ = compat.ParseRev(rev)
	rec, _ := p.Settings().Record(context.Background())
	if p.lives[rec.History] > 0 {
		r.at = p.now.UnixMilli()
	}
	m.past = append(m.past, r)
}

// purge removes all of a document, its past too.
func (m *pastModel) purge(t testing.TB, p *pastStore, id string) {
	if m.current[id] == "" {
		return
	}
	revs := []compat.Rev{parsedRev(t, m.current[id])}
	_, err := p.Purge(t.Context(), []IDRevs{{ID: id, Revs: revs}})
	must(t, err)
	m.current[id] = ""
	m.past = slices.DeleteFunc(m.past, func(r *pastRev) bool {
		if r.id == id && r.there(t, p) {
			t.Errorf("a purged body is there: %v", r)
		}
		return r.id == id
	})
}

// left compares what there is with what is to be left, and takes what is gone out of the list.
func (m *pastModel) left(t testing.TB, p *pastStore, stays func(r *pastRev, from int64) bool) int {
	rec, err := p.Settings().Record(t.Context())
	must(t, err)
	from := p.now.UnixMilli() - p.lives[rec.History]*1000
	if p.lives[rec.History] == 0 {
		from = 1 << 62
	}
	before := len(m.past)
	m.past = slices.DeleteFunc(m.past, func(r *pastRev) bool {
		there := r.there(t, p)
		if there != stays(r, from) {
			t.Errorf("%v at %v is there: %v", r, p.now.UnixMilli(), there)
		}
		return !there
	})
	return before - len(m.past)
}

// compacted looks at what a compaction has left, and tells how many revisions it has removed.
func (m *pastModel) compacted(t testing.TB, p *pastStore) int {
	return m.left(t, p, func(r *pastRev, from int64) bool { return r.at != 0 && r.at >= from })
}

// passed removes what is due: what is older than the life, and then the oldest while there are too
// many bytes.
func (m *pastModel) passed(t testing.TB, p *pastStore) int {
	before, _ := p.size(t)
	p.forget(t)
	after, rows := p.size(t)
	newestGone, oldestLeft := int64(0), int64(1<<62)
	gone := m.left(t, p, func(r *pastRev, from int64) bool {
		there := r.there(t, p)
		switch {
		case r.at == 0, from == 1<<62:
			return true
		case r.at < from:
			return false
		case there:
			oldestLeft = min(oldestLeft, r.at)
		default:
			newestGone = max(newestGone, r.at)
		}
		return there
	})
	if newestGone > 0 && before <= p.bytes || newestGone > oldestLeft || oldestLeft < 1<<62 && after > p.bytes {
		t.Errorf("%d of %d bytes are left, most %d; gone until %d, left from %d",
			after, before, p.bytes, newestGone, oldestLeft)
	}
	want(t, "replaced revisions", rows, len(m.past))
	return gone
}

// TestHistoryCountsAttachments: bytes that only a replaced revision has are counted where it is
// kept, those that its successor has are not; they can be read as long as it is there.
func TestHistoryCountsAttachments(t *testing.T) {
	p := newPast(t, true)
	p.lives[""] = 10
	first := putAtts(t, p.DB, "d", "", upload(t, p.Attachments().Uploads(), "a", make([]byte, 50_000), nil))
	second := putAtts(t, p.DB, "d", first, stubOf("a"))
	if bytes, _ := p.size(t); bytes > 1000 {
		t.Errorf("an attachment that is still there is counted: %d bytes", bytes)
	}
	put(t, p.DB, "d", second, `{}`)
	if bytes, rows := p.size(t); bytes < 50_000 || bytes > 51_000 || rows != 2 {
		t.Errorf("%d bytes in %d revisions", bytes, rows)
	}
	must(t, p.Compact(t.Context()))
	for _, rev := range []string{first, second} {
		data, err := readAtt(t, p.DB, "d", rev, "a", AttachmentRange{To: -1})
		must(t, err)
		want(t, "bytes", len(data), 50_000)
	}
	p.now = p.now.Add(10*time.Second + time.Millisecond)
	want(t, "removed", p.forget(t), 2)
	bytes, rows := p.size(t)
	want(t, "left", []int64{bytes, rows}, "[0 0]")
}

// TestHistoryOfOneRequest: an attachment that only a revision has which the next one of the same
// request replaces is counted, one that both have is not.
func TestHistoryOfOneRequest(t *testing.T) {
	for shared, most := range map[bool]int64{false: 3_001_000, true: 1000} {
		p := newPast(t, true)
		p.lives[""] = 10
		att := upload(t, p.Attachments().Uploads(), "a", make([]byte, 3_000_000), nil) // stored by itself
		older, newer := doc(t, "d", "1-a", `{"n":1}`), doc(t, "d", "2-b,a", `{"n":2}`)
		older.Attachments = []compat.Attachment{att}
		if shared {
			newer.Attachments = older.Attachments
		}
		update(t, p.DB, UpdateOptions{Replicated: true}, older, newer)
		if bytes, rows := p.size(t); bytes < most-1000 || bytes > most || rows != 1 {
			t.Errorf("shared %v: %d bytes in %d revisions", shared, bytes, rows)
		}
	}
}

// TestHistoryIsBoundedByItself: what the store does beside its calls keeps the bytes below the
// most, and compacts nothing that is kept.
func TestHistoryIsBoundedByItself(t *testing.T) {
	p := newPast(t, false)
	p.lives[""], p.bytes = 10, 3<<20
	rev := ""
	for n := range 100 {
		rev = put(t, p.DB, "d", rev, fmt.Sprintf(`{"n":%d,"x":%q}`, n, strings.Repeat("y", 60_000)))
	}
	p.store.compactAutomatically(t.Context())
	bytes, rows := p.size(t)
	if bytes > p.bytes || bytes < p.bytes-200_000 || rows < 40 {
		t.Errorf("%d bytes in %d revisions", bytes, rows)
	}
	p.bytes = 1 << 30
	put(t, p.DB, "d", rev, `{}`)
	p.store.compactAutomatically(t.Context())
	if _, now := p.size(t); now != rows+1 {
		t.Errorf("%d revisions of %d are left", now, rows+1)
	}
}

// TestHistoryOnSlowStores: what is too much for a snapshot or a transaction is done by parts, and a
// database that takes the name of another one loses nothing.
func TestHistoryOnSlowStores(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		db.store.SetHooks(Hooks{History: func(string) History { return History{1, 0} }})
		rev := ""
		for n := range 150 {
			rev = put(t, db, "d", rev, fmt.Sprintf(`{"n":%d}`, n))
		}
		must(t, db.Compact(t.Context()))
		assertHistory(t, db, 149)
		done, more, err := db.ForgetReplaced(t.Context())
		must(t, err)
		want(t, "the first step", []any{done, more}, fmt.Sprint([]any{replacedBatch, true}))
		for more {
			_, more, err = db.ForgetReplaced(t.Context())
			must(t, err)
		}
		assertHistory(t, db, 0)
		rev = put(t, db, "d", rev, `{}`)
		f := forgetting{db: db, most: 1}
		_, err = f.some(t.Context(), [][]byte{db.historyKey(t, "d", rev)})
		wantError(t, err, compat.ErrNoDatabase)
	})
}

// historyKey is what the entry of a revision has behind TagHistory in its key.
func (db *DB) historyKey(t testing.TB, id, rev string) (key []byte) {
	must(t, db.view(t.Context(), func(d *dbRead) error {
		key = d.Keys.History(nil, id, parsedRev(t, rev))[len(d.Keys.Sub(nil, keyspace.TagHistory)):]
		return nil
	}))
	return key
}

// TestCheckFindsTimesOfReplaced: a row too much, one that is missing, and one of another time.
func TestCheckFindsTimesOfReplaced(t *testing.T) {
	type damage func(tx kv.Tx, x replaced.Index, row replaced.Row)
	for name, damage := range map[string]damage{
		"missing": func(tx kv.Tx, x replaced.Index, row replaced.Row) {
			tx.Clear(x.Key(row.MS, row.Entry))
		},
		"too much": func(tx kv.Tx, x replaced.Index, row replaced.Row) {
			tx.Set(x.Key(row.MS+1, row.Entry), nil)
		},
		"of nobody": func(tx kv.Tx, x replaced.Index, row replaced.Row) {
			tx.Set(x.Key(row.MS, []byte("x")), nil)
		},
		"garbled": func(tx kv.Tx, x replaced.Index, _ replaced.Row) { tx.Set(x.Key(1, nil), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(t.Context(), Options{KV: memkv.New(), Manual: true})
			must(t, err)
			defer s.Close()
			s.SetHooks(Hooks{History: func(string) History { return History{1000, 1 << 20} }})
			must(t, s.Create(t.Context(), "db", CreateOptions{}))
			db := s.DB("db")
			put(t, db, "d", put(t, db, "d", "", `{}`), `{"n":2}`)
			must(t, db.update(t.Context(), func(t *dbTx) error {
				x := replaced.Index{Keys: t.Keys}
				rows, err := x.Oldest(t.R, 1)
				if err == nil {
					damage(t.tx, x, rows[0])
				}
				return err
			}))
			violations, err := verify.Check(t.Context(), s.kv, nil)
			must(t, err)
			if len(violations) != 1 || violations[0].Invariant != 18 {
				t.Errorf("%v", violations)
			}
		})
	}
}
