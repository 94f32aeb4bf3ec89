package dbevents

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestLog(t *testing.T) {
	l := New("_global_changes")
	for _, e := range []Event{
		{"a", Updated}, {"a", Created}, {"b", Deleted}, {"a", Updated}, {"a", Created},
		{"_global_changes", Created}, {"_global_changes", Updated},
	} {
		l.Note(e)
	}
	want := []Event{{"a", Updated}, {"_dbs", Updated}, {"b", Deleted}, {"a", Created}}
	if got := l.Take(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := l.Take(); len(got) > 0 {
		t.Errorf("twice: %v", got)
	}
	names := l.TakeUpdated()
	slices.Sort(names)
	if !slices.Equal(names, []string{"_global_changes", "a"}) {
		t.Errorf("updated: %v", names)
	}
	if got := (Event{"b", Deleted}).ID(); got != "deleted:b" {
		t.Errorf("id %q", got)
	}
}

// TestWait: creations and deletions are not kept waiting, also not that of the database of events
// itself.
func TestWait(t *testing.T) {
	for name, test := range map[string]struct {
		event Event
		want  time.Duration
	}{
		"updated": {Event{"a", Updated}, time.Second},
		"deleted": {Event{"a", Deleted}, 0},
		"own":     {Event{"own", Created}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := New("own")
			l.Note(test.event)
			began := time.Now()
			l.Wait(t.Context(), time.Second)
			if d := time.Since(began); d != test.want {
				t.Errorf("%s: after %v, want %v", name, d, test.want)
			}
		})
	}
}

func TestBatch(t *testing.T) {
	var events []Event
	for i := range batch {
		events = append(events, Event{string(rune('a' + i)), Created})
	}
	events = append(events, Event{"x", Deleted}, Event{"y", Deleted}, Event{"x", Created})
	var sizes []int
	for rest := events; len(rest) > 0; {
		n := len(Batch(rest))
		sizes, rest = append(sizes, n), rest[n:]
	}
	if !slices.Equal(sizes, []int{batch, 2, 1}) {
		t.Errorf("batches of %v", sizes)
	}
}
