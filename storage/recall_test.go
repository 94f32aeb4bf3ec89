package storage

import (
	"errors"
	"sync"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// openTwice opens a store across a network as two processes have it.
func openTwice(t *testing.T) (a, b *Store) {
	engine := latencykv.New(memkv.New(), latencykv.Options{})
	a = openStore(t, engine)
	b, err := Open(t.Context(), Options{KV: engine, Manual: true})
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	return a, b
}

// What one process remembers of a database's record does not show when another one deletes the
// database, makes another one of that name, or changes it.
func TestRecordsThatOthersChange(t *testing.T) {
	a, b := openTwice(t)
	must(t, a.Create(t.Context(), "db", CreateOptions{}))
	db, other := a.DB("db"), b.DB("db")
	put(t, db, "x", "", `{"n":1}`) // a has the record now

	must(t, b.Delete(t.Context(), "db"))
	_, err := db.Open(t.Context(), "x", docread.OpenOptions{})
	wantError(t, err, compat.ErrNoDatabase)
	must(t, b.Create(t.Context(), "db", CreateOptions{}))
	put(t, db, "y", "", `{}`) // with the record of the new one
	open(t, other, "y", docread.OpenOptions{})

	must(t, b.Delete(t.Context(), "db"))
	must(t, b.Create(t.Context(), "db", CreateOptions{}))
	rev := put(t, db, "z", "", `{}`) // a remembers the second one
	_, err = db.Open(t.Context(), "y", docread.OpenOptions{})
	wantError(t, err, compat.ErrMissing)
	open(t, other, "z", docread.OpenOptions{})

	must(t, other.Settings().SetRevsLimit(t.Context(), 1))
	put(t, db, "z", rev, `{"n":2}`)
	doc := open(t, db, "z", docread.OpenOptions{Revs: true})
	want(t, "revisions left by a limit of another process", len(doc.Revs.IDs), 1)
}

// Writers go on while another process makes and deletes the database: what is acknowledged went to
// a database that was there.
func TestWritersBesideOtherRecords(t *testing.T) {
	a, b := openTwice(t)
	must(t, a.Create(t.Context(), "db", CreateOptions{}))
	var wg sync.WaitGroup
	done := make(chan struct{})
	for w := range 4 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				d := doc(t, string(rune('a'+w))+string(rune('a'+n%26)), "", `{}`)
				_, err := a.DB("db").Update(t.Context(), []*compat.Document{d}, UpdateOptions{})
				if err != nil && !errors.Is(err, compat.ErrNoDatabase) {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 50 {
		must(t, b.Delete(t.Context(), "db"))
		must(t, b.Create(t.Context(), "db", CreateOptions{}))
	}
	close(done)
	wg.Wait()
}
