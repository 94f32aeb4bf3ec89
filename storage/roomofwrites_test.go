package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/room"
)

// counter is the memory of one request, as it was asked for.
type counter struct {
	asked, has int64
	full       bool // there is none without a wait
	refusal    error
	released   bool
}

func (c *counter) Hold(_ context.Context, bytes int64) error {
	c.asked, c.has = bytes, bytes
	return c.refusal
}

func (c *counter) Grow(bytes int64) error {
	if c.full {
		return errors.New("full")
	}
	c.has = max(c.has, bytes)
	return nil
}

func (c *counter) Release() { c.has, c.released = 0, true }

// sizedRow is the row of a document, which says how large it is.
type sizedRow struct{ bytes int64 }

func (s sizedRow) Bytes() int64 { return s.bytes }

// sizing gives rows that are larger than their documents.
type sizing struct {
	each  int64
	calls int
}

func (z *sizing) RunDeferred(_ context.Context, args []any) ([]any, error) {
	results := make([]any, len(args))
	for i := range args {
		results[i] = sizedRow{z.each}
	}
	z.calls++
	return results, nil
}

// Documents that are indexed are counted before anything is made of them, by those that are sent and
// those that they replace; small ones, and those of databases without indexes, are not.
func TestLargeWritesAreCounted(t *testing.T) {
	o, db := newOracle(t, memkv.New())
	o.validates = false
	var shares []*counter
	var refusal error
	db.store.hooks.Room = func(context.Context) room.Share {
		shares = append(shares, &counter{refusal: refusal})
		return shares[len(shares)-1]
	}
	asked := func() (bytes int64) {
		for _, s := range shares {
			bytes += s.asked
			if s.asked > 0 && (!s.released || s.has != 0) {
				t.Errorf("%+v is not given back", s)
			}
		}
		shares = nil
		return bytes
	}
	large := `{"a":[` + strings.TrimSuffix(strings.Repeat("1,", 1<<19), ",") + `]}`
	rev := put(t, db, "large", "", large)
	want(t, "asked for a large document", asked() >= room.OfText([]byte(large)), true)
	put(t, db, "small", "", `{"a":1}`)
	want(t, "asked for a small one", asked(), 0)
	put(t, db, "large", rev, "{}")
	want(t, "asked for one that is replaced", asked() >= room.OfStored(int64(len(large))), true)
	row := o.row(db, "large")
	refusal = compat.Busy("no")
	_, err := db.Update(t.Context(), []*compat.Document{doc(t, "late", "", large)}, UpdateOptions{})
	wantError(t, err, refusal)
	want(t, "the row of a document that was refused", o.row(db, "late"), "")
	want(t, "the others' row", o.row(db, "large"), row)
	shares = nil
	err = db.store.Commit(t.Context(), &Commit{Databases: []DatabaseCommit{
		{DB: db, Sent: []*compat.Document{doc(t, "late", "", large)}},
	}})
	wantError(t, err, refusal)
	shares, refusal, o.indexes = nil, nil, false
	put(t, db, "late", "", large)
	want(t, "asked without indexes", asked(), 0)
}

// What callbacks give back for small documents is counted as it comes: what there is no memory for
// is forgotten before more is asked for.
func TestResultsAreCounted(t *testing.T) {
	share := &counter{full: true}
	z := &sizing{each: 400 << 10}
	calls := deferredCalls{room: room.Room{Share: share}}
	deferAll := func() {
		calls.begin()
		for i := range 20 {
			if _, found := calls.results[CallbackKey{byte(i)}]; !found {
				calls.open = append(calls.open, deferredCall{CallbackKey{byte(i)}, z, i})
			}
		}
	}
	rounds := 0
	for done := 0; done < 20; rounds++ {
		deferAll()
		_, err := calls.run(t.Context(), time.Now, deferredTime)
		must(t, err)
		bytes := int64(0)
		for range calls.results {
			bytes += 4 * z.each
		}
		// The results of one call beyond it are there before they are counted.
		if most := max(share.has, room.Free) + maxDeferred/4*4*z.each; bytes > most {
			t.Fatalf("%d bytes of results, %d were asked for", bytes, share.has)
		}
		for key := range calls.results {
			calls.use(key, calls.results[key])
		}
		done = len(calls.results)
		if rounds > 50 {
			t.Fatal("no end")
		}
	}
	want(t, "results were forgotten", share.asked > 0, true)
	want(t, fmt.Sprint("calls in ", rounds, " rounds"), z.calls > 1, true)
}
