package storage

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/blobs"
	"github.com/settee-db/settee/storage/counts"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/storage/revtree"
	"github.com/settee-db/settee/storage/verify"
)

// fullStore has something in every subspace.
func fullStore(t *testing.T) (*Store, *DB) {
	t.Helper()
	s := openDisk(t, fullDisk(t))
	return s, s.DB("db")
}

// openDisk opens the store on a disk. Nobody checks it at the end: it may be damaged.
func openDisk(t *testing.T, disk *memkv.Disk) *Store {
	t.Helper()
	k, err := disk.Open()
	must(t, err)
	s, err := Open(t.Context(), Options{KV: k, Manual: true})
	must(t, err)
	t.Cleanup(func() {
		must(t, s.Close())
		must(t, k.Close())
	})
	return s
}

// fullDisk is the disk of a store that has something in every subspace.
func fullDisk(t *testing.T) *memkv.Disk {
	t.Helper()
	disk := memkv.NewDisk()
	k, err := disk.Open()
	must(t, err)
	s, err := Open(t.Context(), Options{KV: k, Manual: true})
	must(t, err)
	smallSeqBlocks(s)
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	must(t, s.Create(t.Context(), "parts", CreateOptions{Partitioned: true}))
	put(t, s.DB("parts"), "p:doc", "", `{"in":"a partition"}`)
	put(t, s.DB("parts"), "_design/d", "", `{}`)
	db := s.DB("db")
	for i := range 400 {
		put(t, db, fmt.Sprint("filler", i), "", `{"a":{"b":[1,2]}}`)
	}
	rev := put(t, db, "doc", "", `{"a":1}`)
	rev = put(t, db, "doc", rev, `{"a":2,"b":{"c":[]}}`)
	put(t, db, "doc", rev, `{"a":3}`)
	replicate(t, db, "conflict", "1-aaaaaaaaaaaaaaaa", "1-bbbbbbbbbbbbbbbb", "1-cccccccccccccccc!")
	remove(t, db, "gone", put(t, db, "gone", "", `{}`))
	replicate(t, db, "tomb", "1-aaaaaaaaaaaaaaaa!")
	u := db.Attachments().Uploads()
	large := put(t, db, "large", "", `{"s":"`+strings.Repeat("x", 3*keyspace.MaxValue)+`"}`)
	put(t, db, "large", large, `{"s":"`+strings.Repeat("y", 2*keyspace.MaxValue)+`"}`)
	putAtts(t, db, "atts", "", upload(t, u, "big", noise(200_000), nil), upload(t, u, "small", noise(100), nil))
	upload(t, db.Attachments().Uploads(), "pending", noise(blobs.Memory+1), nil)
	put(t, db, "_local/x", "", `{"local":true}`)
	_, err = db.Purge(t.Context(), []IDRevs{{ID: "purged", Revs: []compat.Rev{{Pos: 1, Hash: "x"}}}})
	must(t, err)
	must(t, db.Settings().SetSecurity(t.Context(), []byte(`{"admins":{}}`)))
	checkStore(t, k)
	must(t, s.Close())
	must(t, k.Close())
	return disk
}

// damage is one change to what is stored.
type damage struct {
	invariant int
	database  string
	change    func(t *testing.T, tx kv.Tx, d *dbRead)
}

// firstKey is the first key below a prefix, or the last one.
func firstKey(t *testing.T, tx kv.Tx, prefix []byte, last bool) (key, value []byte) {
	t.Helper()
	begin, end := keyspace.Children(prefix)
	it := tx.Range(begin, end, kv.RangeOptions{Reverse: last, Limit: 1})
	defer it.Close()
	if !it.Next() {
		t.Fatalf("nothing below %q", prefix)
	}
	return bytes.Clone(it.Key()), bytes.Clone(it.Value())
}

// clearFirst and clearLast remove a key of a subspace, addTo adds to a counter, and so on.
func clearFirst(tag keyspace.Tag) func(*testing.T, kv.Tx, *dbRead) {
	return func(t *testing.T, tx kv.Tx, d *dbRead) {
		key, _ := firstKey(t, tx, d.Keys.Sub(nil, tag), false)
		tx.Clear(key)
	}
}

func clearLast(tag keyspace.Tag) func(*testing.T, kv.Tx, *dbRead) {
	return func(t *testing.T, tx kv.Tx, d *dbRead) {
		key, _ := firstKey(t, tx, d.Keys.Sub(nil, tag), true)
		tx.Clear(key)
	}
}

func garbleFirst(tag keyspace.Tag) func(*testing.T, kv.Tx, *dbRead) {
	return func(t *testing.T, tx kv.Tx, d *dbRead) {
		key, _ := firstKey(t, tx, d.Keys.Sub(nil, tag), false)
		tx.Set(key, []byte("\xffgarbage"))
	}
}

func addTo(key func(d *dbRead) []byte, n int64) func(*testing.T, kv.Tx, *dbRead) {
	return func(_ *testing.T, tx kv.Tx, d *dbRead) { keyspace.AddCounter(tx, key(d), n) }
}

func statKey(n keyspace.Stat) func(*dbRead) []byte {
	return func(d *dbRead) []byte { return d.Keys.Stat(nil, n) }
}

var damages = map[string]damage{
	"leaf lost": {2, "db", clearFirst(keyspace.TagRevs)},
	"winner lost": {1, "db", func(t *testing.T, tx kv.Tx, d *dbRead) {
		key, _ := firstKey(t, tx, d.Keys.Doc(nil, keyspace.TagRevs, "conflict"), true)
		tx.Clear(key)
	}},
	"leaf garbled": {2, "db", garbleFirst(keyspace.TagRevs)},
	"second winner": {1, "db", func(t *testing.T, tx kv.Tx, d *dbRead) {
		prefix := d.Keys.Doc(nil, keyspace.TagRevs, "conflict")
		_, winner := firstKey(t, tx, prefix, true)
		loser, _ := firstKey(t, tx, prefix, false)
		tx.Set(loser, winner)
	}},
	"leaf that is an ancestor": {1, "db", func(t *testing.T, tx kv.Tx, d *dbRead) {
		_, winner := firstKey(t, tx, d.Keys.Doc(nil, keyspace.TagRevs, "doc"), true)
		suffix, _ := firstKey(t, tx, d.Keys.Doc(nil, keyspace.TagRevs, "doc"), true)
		l, err := formats.ParseLeaf(new(revtree.Lines), suffix[len(d.Keys.Doc(nil, keyspace.TagRevs, "doc")):], winner)
		must(t, err)
		parent := compat.Rev{Pos: l.Rev.Pos - 1, Hash: l.Ancestors.At(0)}
		l.Winner, l.Ancestors = false, revtree.Line{}
		tx.Set(d.Keys.Leaf(nil, keyspace.TagRevs, "doc", false, parent), l.Encode(nil))
	}},
	"entry in a loser's record": {2, "db", func(t *testing.T, tx kv.Tx, d *dbRead) {
		key := d.Keys.Leaf(nil, keyspace.TagRevs, "conflict", false, compat.Rev{Pos: 1, Hash: strings.Repeat("a", 16)})
		value, err := tx.Get(key)
		must(t, err)
		l, _, err := formats.ParseLeafValue(value)
		must(t, err)
		l.Entry, err = tx.Get(d.Keys.OfEntry(key))
		must(t, err)
		tx.Clear(d.Keys.OfEntry(key))
		tx.Set(key, l.Encode(nil))
	}},
	"entry lost":      {2, "db", clearLast(keyspace.TagDocs)},
	"entry garbled":   {2, "db", garbleFirst(keyspace.TagDocs)},
	"entry of nobody": {2, "db", copyLeaf(keyspace.TagRevs, keyspace.TagDocs, "doc", "nobody")},
	"not listed":      {3, "db", clearFirst(keyspace.TagAllDocs)},
	"listed wrongly":  {3, "db", garbleFirst(keyspace.TagAllDocs)},
	"listed but gone": {3, "db", func(_ *testing.T, tx kv.Tx, d *dbRead) {
		tx.Set(d.Keys.AllDocs(nil, "gone"), formats.EncodeWinner(nil, compat.Rev{Pos: 1, Hash: "x"}))
	}},
	"change lost":       {4, "db", clearFirst(keyspace.TagChanges)},
	"change garbled":    {4, "db", garbleFirst(keyspace.TagChanges)},
	"change twice":      {4, "db", copyFirstChange},
	"doc_count":         {5, "db", addTo(statKey(keyspace.DocCount), 1)},
	"doc_del_count":     {5, "db", addTo(statKey(keyspace.DelCount), -1)},
	"block count":       {6, "db", addTo(func(d *dbRead) []byte { return d.Keys.SeqBlock(nil, 0, Seq{}) }, 1)},
	"block count above": {6, "db", addTo(func(d *dbRead) []byte { return d.Keys.SeqBlock(nil, 1, Seq{}) }, 1)},
	"counts logged": {6, "db", func(t *testing.T, tx kv.Tx, d *dbRead) {
		(&counts.Changes{Added: 5}).Write(tx, d.Keys, d.Rec.Incarnation, 0)
	}},
	"counts garbled": {6, "db", func(t *testing.T, tx kv.Tx, d *dbRead) {
		key, _ := firstKey(t, tx, d.Keys.CountLog(nil), true)
		tx.Set(key, []byte("\xffgarbage"))
	}},
	"block lost": {6, "db", func(t *testing.T, tx kv.Tx, d *dbRead) {
		key, _ := firstKey(t, tx, d.Keys.SeqLevel(nil, 0), false)
		tx.Clear(key)
	}},
	"rank":          {6, "db", addTo(func(d *dbRead) []byte { return d.IDRanks().Levels[0] }, 5)},
	"boundary lost": {6, "db", clearLast(keyspace.TagRankIDs)},
	"count of attachment": {7, "db", func(t *testing.T, tx kv.Tx, d *dbRead) {
		key, _ := firstKey(t, tx, d.Keys.Sub(nil, keyspace.TagAttRefs), false)
		keyspace.AddCounter(tx, key, 1)
	}},
	"count lost": {7, "db", clearFirst(keyspace.TagAttRefs)},
	"count of nothing": {
		7,
		"db",
		addTo(func(d *dbRead) []byte { return d.Keys.Attachment(nil, keyspace.TagAttRefs, "nothing") }, 1),
	},
	"bytes lost": {7, "db", func(_ *testing.T, tx kv.Tx, d *dbRead) {
		tx.Clear(tuple.AppendInt(d.Keys.Attachment(nil, keyspace.TagAtt, attachmentOf(d)), 0))
	}},
	"bytes garbled": {7, "db", func(_ *testing.T, tx kv.Tx, d *dbRead) {
		tx.Set(tuple.AppendInt(d.Keys.Attachment(nil, keyspace.TagAtt, attachmentOf(d)), 0), []byte("x"))
	}},
	"members garbled": {7, "db", garbleFirst(keyspace.TagAtt)}, // of the document that is large
	"bytes of nobody": {7, "db", func(_ *testing.T, tx kv.Tx, d *dbRead) {
		tx.Set(tuple.AppendInt(d.Keys.Attachment(nil, keyspace.TagAtt, "nobody"), 0), []byte("x"))
	}},
	"pending lost": {7, "db", clearFirst(keyspace.TagAttPending)},
	"pending and counted": {
		7,
		"db",
		addTo(func(d *dbRead) []byte { return d.Keys.Attachment(nil, keyspace.TagAttPending, attachmentOf(d)) }, 1),
	},
	"bytes of a body lost": {7, "db", func(t *testing.T, tx kv.Tx, d *dbRead) {
		tx.Clear(tuple.AppendInt(d.Keys.Attachment(nil, keyspace.TagAtt, bodyOf(t, tx, d, keyspace.TagDocs)), 1))
	}},
	"bytes of a replaced body lost": {7, "db", func(t *testing.T, tx kv.Tx, d *dbRead) {
		tx.ClearRange(keyspace.Children(d.Keys.Attachment(nil, keyspace.TagAtt, bodyOf(t, tx, d, keyspace.TagHistory))))
	}},
	"body garbled": {7, "db", func(t *testing.T, tx kv.Tx, d *dbRead) {
		tx.Set(
			tuple.AppendInt(d.Keys.Attachment(nil, keyspace.TagAtt, bodyOf(t, tx, d, keyspace.TagHistory)), 2),
			bytes.Repeat([]byte("z"), keyspace.MaxValue),
		)
	}},
	"body of two": {7, "db", func(t *testing.T, tx kv.Tx, d *dbRead) {
		keyspace.AddCounter(tx, d.Keys.Attachment(nil, keyspace.TagAttRefs, bodyOf(t, tx, d, keyspace.TagDocs)), 1)
	}},
	"body of nobody": {7, "db", func(t *testing.T, tx kv.Tx, d *dbRead) {
		key, _ := firstKey(t, tx, d.Keys.Doc(nil, keyspace.TagHistory, "large"), false)
		tx.Clear(key)
	}},
	"history of nobody": {13, "db", copyLeaf(keyspace.TagHistory, keyspace.TagHistory, "doc", "nobody")},
	"history lost":      {13, "db", clearFirst(keyspace.TagHistory)},
	"history size":      {13, "db", addTo(statKey(keyspace.HistorySize), 7)},
	"local garbled":     {12, "db", garbleFirst(keyspace.TagLocal)},
	"security garbled":  {12, "db", garbleFirst(keyspace.TagSecurity)},
	"purge garbled":     {12, "db", garbleFirst(keyspace.TagPurges)},
	"purges uncounted":  {12, "db", addTo(statKey(keyspace.Purges), -1)},
	"last sequence": {
		14,
		"db",
		func(_ *testing.T, tx kv.Tx, d *dbRead) { tx.Clear(d.Keys.Sub(nil, keyspace.TagLastSeq)) },
	},
	"designs unstamped": {
		3,
		"parts",
		func(_ *testing.T, tx kv.Tx, d *dbRead) { tx.Clear(d.Keys.Sub(nil, keyspace.TagDesigns)) },
	},
	"updates":       {14, "db", addTo(statKey(keyspace.Updates), -400)},
	"external size": {15, "db", addTo(statKey(keyspace.ExternalSize), 1)},
	"active size":   {15, "db", addTo(statKey(keyspace.ActiveSize), 1)},
	"partition": {
		15,
		"parts",
		addTo(func(d *dbRead) []byte { return d.Keys.PartStat(nil, "p", keyspace.DocCount) }, 1),
	},
	"partition of nothing": {
		15,
		"parts",
		addTo(func(d *dbRead) []byte { return d.Keys.PartStat(nil, "q", keyspace.ActiveSize) }, 1),
	},
	"record garbled": {
		11,
		"db",
		func(_ *testing.T, tx kv.Tx, _ *dbRead) { tx.Set(keyspace.RecordKey("db"), []byte("?")) },
	},
	"record lost": {11, "", func(_ *testing.T, tx kv.Tx, _ *dbRead) { tx.Clear(keyspace.RecordKey("db")) }},
	"two of a prefix": {
		11,
		"twin",
		func(_ *testing.T, tx kv.Tx, d *dbRead) { tx.Set(keyspace.RecordKey("twin"), d.Rec.Encode()) },
	},
	"key of nobody": {
		11,
		"",
		func(_ *testing.T, tx kv.Tx, _ *dbRead) { tx.Set(keyspace.NewSpace(1000).Stat(nil, 0), nil) },
	},
}

// copyLeaf stores an entry of a document for another one, too, at its last key in a subspace.
func copyLeaf(key, tag keyspace.Tag, from, to string) func(*testing.T, kv.Tx, *dbRead) {
	return func(t *testing.T, tx kv.Tx, d *dbRead) {
		prefix := d.Keys.Doc(nil, key, from)
		key, _ := firstKey(t, tx, prefix, false)
		_, value := firstKey(t, tx, d.Keys.Doc(nil, keyspace.TagHistory, from), false)
		tx.Set(append(d.Keys.Doc(nil, tag, to), key[len(prefix):]...), value)
	}
}

func copyFirstChange(t *testing.T, tx kv.Tx, d *dbRead) {
	key, value := firstKey(t, tx, d.Keys.Sub(nil, keyspace.TagChanges), false)
	key[len(key)-1]++
	tx.Set(key, value)
}

// bodyOf is the id of the body of a revision of the document "large".
func bodyOf(t *testing.T, tx kv.Tx, d *dbRead, tag keyspace.Tag) string {
	_, value := firstKey(t, tx, d.Keys.Doc(nil, tag, "large"), false)
	e, err := formats.ParseEntry(value)
	must(t, err)
	return e.BodyApart.Ref
}

// attachmentOf is the id of a stored attachment.
func attachmentOf(d *dbRead) string {
	doc, err := d.OpenWinner("atts", docread.OpenOptions{})
	if err != nil {
		panic(err)
	}
	return doc.Attachments[0].Ref
}

// TestCheckFindsDamage damages each subspace by hand.
func TestCheckFindsDamage(t *testing.T) {
	disk := fullDisk(t)
	for name, c := range damages {
		t.Run(name, func(t *testing.T) {
			s := openDisk(t, disk.Copy())
			database := c.database
			if database != "parts" {
				database = "db"
			}
			must(t, s.DB(database).update(context.Background(), func(tx *dbTx) error {
				c.change(t, tx.tx, &tx.dbRead)
				return nil
			}))
			violations, err := verify.Check(t.Context(), s.kv, nil)
			must(t, err)
			found := slices.ContainsFunc(
				violations,
				func(v verify.Violation) bool { return v.Invariant == c.invariant && v.Database == c.database },
			)
			if !found {
				t.Errorf("want a violation of %d in %q, got %v", c.invariant, c.database, violations)
			}
		})
	}
}

// TestCheckOutlivesSnapshots: a check that takes longer than a snapshot lives goes on, and progress
// comes to its end.
func TestCheckOutlivesSnapshots(t *testing.T) {
	s, _ := fullStore(t)
	k := &agingStore{Store: s.kv, reads: 1500}
	var last, total int64
	violations, err := verify.Check(t.Context(), k, func(done, of int64) {
		if done < last || of < done {
			t.Errorf("progress from %d to %d of %d", last, done, of)
		}
		last, total = done, of
	})
	must(t, err)
	for _, v := range violations {
		t.Error(v)
	}
	if last != total || last != 408 || k.aged.Load() == 0 {
		t.Errorf("%d of %d documents, %d snapshots ended", last, total, k.aged.Load())
	}
}

// TestCheckEnds: a store that is wrong throughout is not described in full.
func TestCheckEnds(t *testing.T) {
	s, db := fullStore(t)
	for i := range verify.MaxViolations {
		must(t, db.update(t.Context(), func(tx *dbTx) error {
			tx.tx.Set(tx.Keys.AllDocs(nil, fmt.Sprint("nobody", i)), []byte("?"))
			return nil
		}))
	}
	violations, err := verify.Check(t.Context(), s.kv, nil)
	must(t, err)
	if len(violations) < verify.MaxViolations || len(violations) > verify.MaxViolations+100 {
		t.Errorf("%d violations", len(violations))
	}
}
