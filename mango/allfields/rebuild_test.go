package allfields_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// registry is the key of the database's list of indexes.
func (w *world) registry() []byte {
	var key []byte
	must(w.t, w.db.View(w.t.Context(), func(s *storage.Snapshot) error {
		key = tuple.AppendInt(s.AppendPrefix(nil, keyspace.TagMango), 1)
		return nil
	}))
	return key
}

// An index that another program wrote is built anew at the start, although nobody writes a
// document.
func TestRebuiltAtStart(t *testing.T) {
	w := newWorld(t, memkv.New())
	w.put("_design/auto", allFields)
	w.put("doc", `{"a":1}`)
	w.index(func(*allfields.Index) error { return nil })
	key := w.registry()
	_, err := w.kv.Update(t.Context(), func(tx kv.Tx) error {
		value, err := tx.Get(key)
		other := allfields.Version[:len(allfields.Version)-1] + "0"
		tx.Set(key, bytes.ReplaceAll(value, []byte(allfields.Version), []byte(other)))
		return err
	})
	must(t, err)
	list, err := w.x.Status(t.Context(), w.db)
	must(t, err)
	if len(list) != 1 || list[0].Ready {
		t.Fatalf("an index of another version is %+v", list)
	}
	for range 2 {
		must(t, w.x.Start(t.Context()))
	}
	if found, _ := w.ids(); len(found) != 1 {
		t.Errorf("finds %q", found)
	}
}

func TestStatus(t *testing.T) {
	w := newWorld(t, wrapkv.WithLimits(memkv.New(), kv.FDBLimits, time.Now))
	for i := range 5 {
		w.put(fmt.Sprintf("doc%d", i), `{"a":[1,2],"b":null}`)
	}
	w.put("huge", many(5001))
	w.put("_design/auto", allFields)
	ready, err := w.x.Wait(t.Context(), w.db)
	must(t, err)
	list, err := w.x.Status(t.Context(), w.db)
	must(t, err)
	size := list[0].Bytes
	list[0].Bytes = 0
	want := allfields.Status{DesignDoc: "_design/auto", Name: "all", Ready: true, Entries: 5*4 + 1, Others: 1}
	if !ready || list[0] != want || size == 0 {
		t.Errorf("ready %v, status %+v of %d bytes", ready, list[0], size)
	}
}
