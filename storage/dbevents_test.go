package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settee-db/settee/storage/dbevents"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// openWithTasks opens a store with its periodic tasks.
func openWithTasks(t *testing.T, k kv.Store) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{KV: k})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// events lists the events in the order of the feed.
func events(t *testing.T, s *Store) (ids []string) {
	t.Helper()
	feed := s.DB(GlobalChanges).Feed()
	_, err := feed.Changes(context.Background(), ChangesOptions{Limit: -1}, func(c *Change) error {
		ids = append(ids, c.ID)
		return nil
	})
	must(t, err)
	return ids
}

// waitForEvent waits until an event is in the feed.
func waitForEvent(t *testing.T, s *Store, id string) {
	t.Helper()
	for range 1000 {
		if slices.Contains(events(t, s), id) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("no %q among %v", id, events(t, s))
}

func TestEvents(t *testing.T) { synctest.Test(t, testEvents) }

func testEvents(t *testing.T) {
	k := memkv.New()
	defer k.Close()
	s := openWithTasks(t, k)
	must(t, s.Create(t.Context(), GlobalChanges, CreateOptions{}))
	began := time.Now()
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	waitForEvent(t, s, "created:db")
	if late := time.Since(began); late > eventPause {
		t.Errorf("a creation takes %v", late)
	}
	db := s.DB("db")
	for i := range 100 {
		put(t, db, fmt.Sprint("doc", i), "", `{}`)
	}
	waitForEvent(t, s, "updated:db")
	if d := open(t, s.DB(GlobalChanges), "updated:db", docread.OpenOptions{}); d.Rev.Pos > 10 {
		t.Errorf("%d revisions for 100 updates", d.Rev.Pos)
	}
	must(t, s.Delete(t.Context(), "db"))
	waitForEvent(t, s, "deleted:db")
	must(t, s.Create(t.Context(), "last", CreateOptions{}))
	must(t, s.Close())
	all := events(t, s)
	slices.Sort(all)
	want(t, "events after closing", all, []string{"created:db", "created:last", "deleted:db", "updated:_dbs", "updated:db"})
	checkStore(t, k)
}

// TestEventsKeepTheirOrder: what happened last to a database is last in the feed, though events are
// written together.
func TestEventsKeepTheirOrder(t *testing.T) {
	k := memkv.New()
	defer k.Close()
	s := openWithTasks(t, k)
	must(t, s.Create(t.Context(), GlobalChanges, CreateOptions{}))
	for range 20 {
		for _, last := range []dbevents.Kind{dbevents.Created, dbevents.Deleted} {
			before := []dbevents.Kind{dbevents.Created, dbevents.Updated, dbevents.Deleted, dbevents.Created}
			for _, e := range append(before, last) {
				s.touched("one", e)
				s.touched("two", e)
			}
			for tries := 0; ; tries++ {
				all := events(t, s)
				if lastOf(all, "one") == last.String() && lastOf(all, "two") == last.String() {
					break
				}
				if tries == 1000 {
					t.Fatalf("the last event is %s, the feed tells %v", last, all)
				}
				time.Sleep(time.Millisecond)
			}
		}
	}
}

// lastOf returns what the last event of a database says, updates not counted. The order of the
// events of two databases is open: when their last ones were not taken together, the events before
// the last one of "two" may follow that of "one".
func lastOf(ids []string, name string) (last string) {
	for _, id := range ids {
		if kind, of, _ := strings.Cut(id, ":"); of == name && kind != dbevents.Updated.String() {
			last = kind
		}
	}
	return last
}

// TestEventsWithoutTheirDatabase: nothing is kept, and nothing fails.
func TestEventsWithoutTheirDatabase(t *testing.T) {
	k := memkv.New()
	defer k.Close()
	s := openWithTasks(t, k)
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	put(t, s.DB("db"), "doc", "", `{}`)
	must(t, s.Close())
	_, err := s.DB(GlobalChanges).Exists(t.Context())
	must(t, err)
	if rest := s.bg.events.Take(); len(rest) > 0 {
		t.Errorf("left: %v", rest)
	}
}

// TestEventsOfTwoStores: processes that share a store write the same documents.
func TestEventsOfTwoStores(t *testing.T) {
	k := memkv.New()
	defer k.Close()
	a, b := openWithTasks(t, k), openWithTasks(t, k)
	must(t, a.Create(t.Context(), GlobalChanges, CreateOptions{}))
	for i := range 20 {
		name := fmt.Sprint("db", i)
		must(t, a.Create(t.Context(), name, CreateOptions{}))
		must(t, b.Delete(t.Context(), name))
		must(t, b.Create(t.Context(), name, CreateOptions{}))
	}
	must(t, a.Close())
	must(t, b.Close())
	if n := len(events(t, a)); n != 41 {
		t.Errorf("%d documents, want 40 and updated:_dbs", n)
	}
}

// TestEventsNeverFailWriters: a store that refuses the writes of events is the events' own trouble.
func TestEventsNeverFailWriters(t *testing.T) {
	k := memkv.New()
	defer k.Close()
	s := openWithTasks(t, k)
	s.SetHooks(Hooks{Validator: refuseEvents{}})
	must(t, s.Create(t.Context(), GlobalChanges, CreateOptions{}))
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	for i := range 10 {
		put(t, s.DB("db"), fmt.Sprint("doc", i), "", `{}`)
	}
}

type refuseEvents struct{}

// Prepare implements Validator.
func (refuseEvents) Prepare(_ context.Context, tx *Tx) (ValidateFunc, error) {
	if tx.Name() == GlobalChanges {
		return nil, errors.New("no events")
	}
	return func(context.Context, *docread.Document, *docread.Document) error { return nil }, nil
}
