package mango_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// scanned is what a query gives.
type scanned struct {
	docs   []string
	answer mango.Answer
}

func (w *world) scan(t *testing.T, src mango.Source, request string) scanned {
	plan, err := w.plan(t, request)
	require.NoError(t, err)
	var out scanned
	answer, err := plan.Find(t.Context(), &src, func(doc []byte) error {
		out.docs = append(out.docs, string(doc))
		return nil
	})
	require.NoError(t, err, request)
	out.answer = *answer
	out.answer.Stats.Time = 0
	return out
}

// A scan on several processors gives the same documents in the same order as one that reads on,
// counts the same, and ends at the same place.
func TestScanInParts(t *testing.T) {
	w := openWorld(t, memkv.New())
	w.begin(t, "db")
	const count = 4000
	for first := 0; first < count; first += 500 {
		w.write(t, first, 500)
	}
	w.put(t, "_design/d", `{"n":7}`)
	w.put(t, "m-large", `{"n":7,"text":"`+strings.Repeat("x", 300<<10)+`"}`)
	w.put(t, "zz-large", `{"n":8,"text":"`+strings.Repeat("y", 300<<10)+`"}`)
	ends, err := w.src.DB.SplitIDs(t.Context(), storage.RangeOptions{}, 64)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(ends), 2, "parts")

	inOrder := *w.src
	inOrder.Shown = func(*docread.Document) error { return nil } // such documents are read one after the other
	for _, request := range []string{
		`{"selector":{}}`, `{"selector":{"n":{"$mod":[7,0]}}}`, `{"selector":{"n":{"$gt":3000}}}`,
		`{"selector":{"n":-1}}`, `{"selector":{"n":{"$in":[7,8,3210]}}}`, `{"selector":{"text":{"$exists":true}}}`,
		`{"selector":{"_id":{"$gt":"a"},"n":{"$lt":3000}}}`, `{"selector":{"_id":{"$lt":"_z"}}}`,
	} {
		for _, more := range []string{
			`,"limit":10000`, `,"limit":1500`, `,"limit":3,"skip":299`, `,"r":2,"limit":10000`,
			`,"limit":10000,"sort":[{"_id":"desc"}]`, `,"limit":700,"r":3,"sort":[{"_id":"desc"}]`,
			`,"limit":10000,"fields":["n"]`,
		} {
			if strings.Contains(more, "desc") && !strings.Contains(request, "_id") {
				continue // such a query needs an index
			}
			request := strings.TrimSuffix(request, "}") + more + "}"
			want, got := w.scan(t, inOrder, request), w.scan(t, *w.src, request)
			require.Equal(t, want, got, request)
			if len(got.docs) == 0 || strings.Contains(more, `"limit":10000`) {
				continue
			}
			next := strings.TrimSuffix(request, "}") + fmt.Sprintf(`,"bookmark":%q}`, got.answer.Bookmark)
			require.Equal(t, w.scan(t, inOrder, next), w.scan(t, *w.src, next), next)
		}
	}
}

// A document that passes all the time is found once, whoever writes beside the scan.
func TestScanInPartsBesideWriters(t *testing.T) {
	w := openWorld(t, memkv.New())
	w.begin(t, "db")
	const count = 3000
	for first := 0; first < count; first += 500 {
		w.write(t, first, 500)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			w.put(t, fmt.Sprintf("between-%d", i%50), fmt.Sprintf(`{"other":%d}`, i))
			w.put(t, fmt.Sprintf("between-%d", (i+25)%50), "")
			time.Sleep(time.Millisecond)
		}
	})
	for range 4 {
		got := w.scan(t, *w.src, `{"selector":{"n":{"$gte":0}},"fields":["_id"],"limit":10000}`)
		require.Len(t, got.docs, count)
		for i := 1; i < count; i++ {
			require.Less(t, got.docs[i-1], got.docs[i])
		}
	}
	cancel()
	writer.Wait()
}

// TestValuesAreOfOneMoment: what is added up of all documents is of one snapshot, however many there
// are and whatever is written meanwhile.
func TestValuesAreOfOneMoment(t *testing.T) {
	w := openWorld(t, memkv.New())
	w.begin(t, "db")
	for first := 0; first < 3000; first += 500 {
		w.write(t, first, 500)
	}
	w.put(t, "a", `{"n":100}`)
	w.put(t, "zzz", `{"n":0}`)
	plan, err := w.plan(t, `{"selector":{"n":{"$gte":0}},"fields":["n"],"limit":10000}`)
	require.NoError(t, err)
	sum := func(during func()) (total int64) {
		answer, err := plan.Values(t.Context(), w.src, func(_ []byte, values []ejson.Value) error {
			during()
			n, _ := values[0].Int()
			total += n
			return nil
		})
		require.NoError(t, err)
		require.EqualValues(t, 1, answer.Stats.Snapshots)
		return total
	}
	want := sum(func() {})
	moved := false
	got := sum(func() {
		if !moved { // from what was read to what is read last
			moved = true
			w.put(t, "a", `{"n":0}`)
			w.put(t, "zzz", `{"n":100}`)
		}
	})
	require.Equal(t, want, got)
	require.Equal(t, want, sum(func() {}))
}
