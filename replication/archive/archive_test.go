package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/replication/archive"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/expiry"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/storage/storagetest"
	"github.com/settee-db/settee/storage/verify"
)

var must = storagetest.Must

func openStore(t testing.TB) *storage.Store { return openStoreOn(t, memkv.New()) }

func openStoreOn(t testing.TB, store kv.Store) *storage.Store {
	s, err := storage.Open(context.Background(), storage.Options{KV: store, Manual: true})
	must(t, err)
	t.Cleanup(func() {
		violations, err := verify.Check(context.Background(), store, nil)
		must(t, err)
		for _, v := range violations {
			t.Error(v)
		}
		must(t, s.Close())
		must(t, store.Close())
	})
	return s
}

// fill writes documents with conflicts, deletions, attachments large and small.
func fill(t testing.TB, db *storage.DB, docs int) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range docs {
		id := fmt.Sprintf("doc%04d", i)
		for branch := range 1 + r.IntN(3) {
			start := 1 + int64(r.IntN(3))
			var line []string
			for n := range start {
				line = append(line, fmt.Sprintf(`"%032x"`, 1000*i+10*branch+int(n)+1))
			}
			deleted := ""
			if r.IntN(5) == 0 {
				deleted = `"_deleted":true,`
			}
			text := fmt.Sprintf(
				`{"_id":%q,"_revisions":{"start":%d,"ids":[%s]},%s"n":%d,"float":1.0,"s":"ä\u0000"}`,
				id,
				start,
				strings.Join(line, ","),
				deleted,
				r.IntN(100),
			)
			v, err := ejson.Parse([]byte(text))
			must(t, err)
			doc, err := compat.ParseDocument(v, compat.DocRules{})
			must(t, err)
			u := db.Attachments().Uploads()
			for a := range r.IntN(3) {
				size := []int{0, 10, 200_000}[r.IntN(3)]
				att, err := u.Add(t.Context(), storage.Upload{
					Name: fmt.Sprint("att", a), Type: "text/plain", Compress: 8 * r.IntN(2), Length: -1,
				}, strings.NewReader(strings.Repeat(fmt.Sprint(i, a), size)[:size]))
				must(t, err)
				att.Name, att.Type, att.RevPos = fmt.Sprint("att", a), "text/plain", start
				doc.Attachments = append(doc.Attachments, att)
			}
			results, err := db.Update(t.Context(), []*compat.Document{doc}, storage.UpdateOptions{Replicated: true})
			must(t, err)
			if results[0].Err != nil {
				t.Fatal(results[0].Err)
			}
		}
	}
}

func write(t testing.TB, db *storage.DB, form archive.Form) ([]byte, archive.Summary) {
	var out bytes.Buffer
	sum, err := archive.Write(t.Context(), db, &out, form, nil)
	must(t, err)
	return out.Bytes(), sum
}

// walk opens an archive of one database.
func walk(t testing.TB, data []byte) (*archive.Reader, archive.Header) {
	a := archive.NewReader(bytes.NewReader(data))
	h, err := a.Next()
	must(t, err)
	return a, h
}

func verified(t testing.TB, data []byte, db *storage.DB) (differences []string) {
	a, h := walk(t, data)
	_, err := archive.Verify(t.Context(), a, h, db, func(id string, rev compat.Rev, what string) {
		differences = append(differences, fmt.Sprint(id, " ", rev, " ", what))
	})
	must(t, err)
	return differences
}

// Invariant 2, both forms.
func TestRoundTrip(t *testing.T) {
	for _, form := range []archive.Form{archive.FormNative, archive.FormCouchBackup} {
		s := openStore(t)
		must(t, s.Create(t.Context(), "from", storage.CreateOptions{}))
		must(t, s.Create(t.Context(), "to", storage.CreateOptions{}))
		fill(t, s.DB("from"), 80)
		data, wrote := write(t, s.DB("from"), form)
		if len(verified(t, data, s.DB("to"))) == 0 {
			t.Error("an empty database passes for the archived one")
		}
		for range 2 { // again does no harm
			a, h := walk(t, data)
			read, err := archive.Restore(t.Context(), a, h, s.DB("to"), asIs)
			must(t, err)
			if read.Documents != wrote.Documents || read.Revisions != wrote.Revisions {
				t.Errorf("restored %+v of %+v", read, wrote)
			}
			if _, err := a.Next(); err != io.EOF {
				t.Errorf("after the last database: %v", err)
			}
		}
		if d := verified(t, data, s.DB("to")); len(d) > 0 {
			t.Errorf("form %d: %v", form, d)
		}
		if form == archive.FormNative { // the copy's archive is the same, but for the header
			again, _ := write(t, s.DB("to"), form)
			if !bytes.Equal(rest(again), rest(data)) {
				t.Error("the archive of a restored database differs")
			}
		}
	}
}

func rest(archive []byte) []byte {
	_, lines, _ := bytes.Cut(archive, []byte("\n"))
	return lines
}

// agingStore lets a snapshot be read for a moment only, as FoundationDB does for five seconds.
type agingStore struct {
	kv.Store
	reads int
	age   func(reads int) int // of the next snapshot; nil: reads
}

func (a *agingStore) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	reads := a.reads
	if a.age != nil {
		reads = a.age(reads)
	}
	return a.Store.View(ctx, func(tx kv.ReadTx) error { return fn(&agingRead{tx, reads}) })
}

type agingRead struct {
	kv.ReadTx
	left int
}

func (r *agingRead) Get(key []byte) ([]byte, error) {
	if r.left--; r.left < 0 {
		return nil, kv.ErrTooOld
	}
	return r.ReadTx.Get(key)
}

func (r *agingRead) Range(begin, end []byte, o kv.RangeOptions) kv.Iterator {
	if r.left--; r.left < 0 {
		return tooOld{}
	}
	return r.ReadTx.Range(begin, end, o)
}

type tooOld struct{ kv.Iterator }

func (tooOld) Next() bool   { return false }
func (tooOld) Err() error   { return kv.ErrTooOld }
func (tooOld) Close() error { return kv.ErrTooOld }

// Invariant 1, second half.
func TestSnapshotsThatAge(t *testing.T) {
	aging := &agingStore{Store: memkv.New(), reads: 1 << 30}
	s := openStoreOn(t, aging)
	must(t, s.Create(t.Context(), "from", storage.CreateOptions{}))
	fill(t, s.DB("from"), 60)
	whole, _ := write(t, s.DB("from"), archive.FormNative)
	aging.reads = 25
	pieces, _ := write(t, s.DB("from"), archive.FormNative)
	aging.reads = 1 << 30
	if !bytes.Equal(whole, pieces) {
		t.Error("an archive of several snapshots differs though nothing changed")
	}
	views := 0
	aging.age = func(reads int) int { // two snapshots of three give nothing
		if views++; views%3 > 0 {
			return 1
		}
		return reads
	}
	aging.reads = 40
	pieces, _ = write(t, s.DB("from"), archive.FormNative)
	aging.reads, aging.age = 1<<30, nil
	if !bytes.Equal(whole, pieces) {
		t.Error("an archive of snapshots some of which give nothing differs though nothing changed")
	}
}

func TestVerifyFindsDifferences(t *testing.T) {
	s := openStore(t)
	must(t, s.Create(t.Context(), "db", storage.CreateOptions{}))
	fill(t, s.DB("db"), 5)
	data, _ := write(t, s.DB("db"), archive.FormCouchBackup)
	for old, changed := range map[string]string{
		`"float":1.0`: `"float":1`, `"content_type":"text/plain"`: `"content_type":"text/html"`, `_id":"doc0003"`: `_id":"other"`,
	} {
		d := verified(t, bytes.Replace(data, []byte(old), []byte(changed), 1), s.DB("db"))
		if len(d) == 0 {
			t.Errorf("%s is not found", changed)
		}
	}
}

// Invariant 3.
func TestDamagedArchive(t *testing.T) {
	s := openStore(t)
	must(t, s.Create(t.Context(), "from", storage.CreateOptions{}))
	fill(t, s.DB("from"), 10)
	data, _ := write(t, s.DB("from"), archive.FormNative)
	r := rand.New(rand.NewPCG(2, 2))
	for i := range 60 {
		name := fmt.Sprint("to", i)
		must(t, s.Create(t.Context(), name, storage.CreateOptions{}))
		damaged := bytes.Clone(data)
		first := bytes.IndexByte(data, '\n') + 1
		if at := first + r.IntN(len(data)-first-1); i%2 == 0 {
			damaged = damaged[:at]
		} else {
			damaged[at] ^= 1
		}
		a, h := walk(t, damaged)
		if _, err := archive.Restore(t.Context(), a, h, s.DB(name), asIs); err == nil {
			t.Errorf("round %d: a damaged archive is taken", i)
		}
	}
}

// A couchbackup of a real tool has no metadata line before version 2.10.
func TestOldCouchBackup(t *testing.T) {
	s := openStore(t)
	must(t, s.Create(t.Context(), "db", storage.CreateOptions{}))
	a, h := walk(
		t,
		[]byte(
			`[{"_id":"a","_rev":"1-967a00dff5e02add41819138abb3284d","_revisions":{"start":1,"ids":["967a00dff5e02add41819138abb3284d"]}}]`+"\n[]\n",
		),
	)
	sum, err := archive.Restore(t.Context(), a, h, s.DB("db"), asIs)
	must(t, err)
	if sum.Documents != 1 {
		t.Errorf("%d documents", sum.Documents)
	}
}

// asIs compresses no attachment of a restore.
func asIs(string) int { return 0 }

// Version 2.11 of the tool writes content types under a name of its own. What is compressible is
// stored compressed, as if that tool had brought it back.
func TestAttachmentsOfCouchBackup(t *testing.T) {
	s := openStore(t)
	must(t, s.Create(t.Context(), "db", storage.CreateOptions{}))
	data := []byte(`{"name":"@cloudant/couchbackup","version":"2.11.12","mode":"full","attachments":true}` + "\n" +
		`[{"_id":"a","_rev":"1-967a00dff5e02add41819138abb3284d","_attachments":{"x":{"contentType":"text/plain","data":"YWJj","revpos":1}}}]` + "\n")
	a, h := walk(t, data)
	level := func(contentType string) int { return len(contentType) - len("text/plai") }
	_, err := archive.Restore(t.Context(), a, h, s.DB("db"), level)
	must(t, err)
	doc, err := s.DB("db").Open(t.Context(), "a", docread.OpenOptions{})
	must(t, err)
	if len(doc.Attachments) != 1 || doc.Attachments[0].Type != "text/plain" || doc.Attachments[0].Length != 3 ||
		doc.Attachments[0].Encoding != compat.EncodingGzip {
		t.Errorf("restored as %+v", doc.Attachments)
	}
	if d := verified(t, data, s.DB("db")); len(d) > 0 {
		t.Error(d)
	}
}

// TestExpiry: what expires does so in the copy, too, but not where a later revision is there.
func TestExpiry(t *testing.T) {
	s := openStore(t)
	must(t, s.Create(t.Context(), "from", storage.CreateOptions{}))
	must(t, s.Create(t.Context(), "to", storage.CreateOptions{}))
	put := func(db, id, body string, ms int64) storage.ReadRev {
		o := storage.UpdateOptions{Stored: func(x *storage.Tx, results []storage.EditResult) error {
			if ms > 0 {
				expiry.Set(x, id, results[0].Rev, ms)
			}
			return nil
		}}
		results, err := s.DB(db).Update(t.Context(), []*compat.Document{storagetest.Doc(t, id, "", body)}, o)
		must(t, err)
		return storage.ReadRev{ID: id, Rev: results[0].Rev}
	}
	// conflicts whose revisions are above and below those in the archive
	list := []storage.ReadRev{
		put("from", "a", `{}`, 11), put("from", "b", `{}`, 0), put("from", "c", `{"n":1}`, 33),
		put("from", "d", `{"n":1}`, 44), put("from", "e", `{"n":2}`, 55),
	}
	var there []storage.ReadRev
	for n, id := range []string{"c", "d", "e"} {
		there = append(there, put("to", id, fmt.Sprintf(`{"n":%d}`, 5+n), int64(n+1)))
	}
	data, _ := write(t, s.DB("from"), archive.FormNative)
	a, h := walk(t, data)
	_, err := archive.Restore(t.Context(), a, h, s.DB("to"), asIs)
	must(t, err)
	must(t, s.DB("to").View(t.Context(), func(s *storage.Snapshot) error {
		times, err := expiry.Of(s, list)
		must(t, err)
		own, err := expiry.Of(s, there)
		must(t, err)
		storagetest.Want(t, "times of a and b", times[:2], "[11 0]")
		for i, rev := range there {
			winner, err := s.WinnerRev(rev.ID)
			must(t, err)
			want := [2]int64{0, int64(i + 1)}
			if winner == list[2+i].Rev {
				want = [2]int64{int64(33 + 11*i), 0}
			}
			storagetest.Want(t, rev.ID, [2]int64{times[2+i], own[i]}, fmt.Sprint(want))
		}
		return nil
	}))
	data, _ = write(t, s.DB("from"), archive.FormCouchBackup) // which has no place for it
	if bytes.Contains(data, []byte("expires")) {
		t.Errorf("%s", data)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(
		[]byte(
			`{"name":"settee","format":1,"db":"a","revs_limit":1}` + "\n" + `{"attachment":"1B2M2Y8AsgTpgAmY7PhCfg==","encoded_length":3,"length":3}` + "\n" + `{"data":"YWJj"}` + "\n[]\n" + `{"end":true}`,
		),
	)
	f.Add([]byte(
		`{"name":"settee","format":1,"db":"a","revs_limit":1,"purged_infos_limit":2,"deleted_document_ttl":"1_day","history":"2d"}` +
			"\n" + `{"expires":[{"id":"a","rev":"1-b","ms":9}]}` + "\n" +
			`[{"_id":"a","_revisions":{"start":1,"ids":["b"]}}]` + "\n" + `{"end":true}`))
	f.Add([]byte(`[{"_id":"a","_rev":"1-967a00dff5e02add41819138abb3284d","_attachments":{"x":{"data":"YQ=="}}}]`))
	s, err := storage.Open(
		context.Background(),
		storage.Options{KV: wrapkv.WithLimits(memkv.New(), kv.FDBLimits, time.Now), Manual: true},
	)
	must(f, err)
	must(f, s.Create(context.Background(), "db", storage.CreateOptions{}))
	f.Fuzz(func(t *testing.T, data []byte) {
		a := archive.NewReader(bytes.NewReader(data))
		for range 10 {
			h, err := a.Next()
			if err != nil {
				return
			}
			if _, err := archive.Restore(t.Context(), a, h, s.DB("db"), asIs); errors.Is(err, kv.ErrCorrupt) {
				t.Fatal(err)
			}
		}
	})
}

// TestAccess: the copy of a database with access for each document shows the same to each reader,
// tombstones too, and is made nowhere else.
func TestAccess(t *testing.T) {
	s := openStore(t)
	must(t, s.Create(t.Context(), "from", storage.CreateOptions{Access: true}))
	must(t, s.DB("from").Settings().SetShare(t.Context(), access.ShareAny))
	put := func(id, rev, body string) string {
		doc := storagetest.Doc(t, id, rev, body)
		doc.Deleted = rev != ""
		results, err := s.DB("from").Update(t.Context(), []*compat.Document{doc}, storage.UpdateOptions{})
		must(t, err)
		return results[0].Rev.String()
	}
	put("a", "", `{"_access":["ann"]}`)
	put("b", put("b", "", `{"_access":["bob","role:x"]}`), `{}`)
	put("c", put("c", "", `{"_access":["bob"]}`), `{"_access":["ann"]}`)
	put("d", "", `{}`)
	data, _ := write(t, s.DB("from"), archive.FormNative)
	a, h := walk(t, data)
	storagetest.Want(t, "header", fmt.Sprint(h.Access, h.Share), "true any")

	must(t, s.Create(t.Context(), "plain", storage.CreateOptions{}))
	if _, err := archive.Restore(t.Context(), a, h, s.DB("plain"), asIs); !errors.Is(err, compat.KindBadRequest) {
		t.Errorf("restored for everybody: %v", err)
	}
	must(t, s.Create(t.Context(), "to", storage.CreateOptions{Access: true}))
	a, h = walk(t, data)
	_, err := archive.Restore(t.Context(), a, h, s.DB("to"), asIs)
	must(t, err)
	feed := func(name string, who access.Principals) (rows []string) {
		o := storage.ChangesOptions{Limit: -1, AllLeaves: true}
		_, err := s.DB(name).As(who).Feed().Changes(t.Context(), o, func(c *storage.Change) error {
			rows = append(rows, fmt.Sprint(c.ID, c.Deleted, c.Revs))
			return nil
		})
		must(t, err)
		slices.Sort(rows)
		return rows
	}
	for n, who := range []access.Principals{
		access.Of("ann", nil), access.Of("bob", nil), access.Of("eve", []string{"x"}), access.Of("eve", nil),
	} {
		rows := feed("to", who)
		storagetest.Want(t, "documents", len(rows), []int{2, 1, 1, 0}[n])
		storagetest.Want(t, "feed", rows, feed("from", who))
	}
}
