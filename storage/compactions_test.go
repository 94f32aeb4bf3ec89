package storage

import "testing"

func TestRunningCompactionsAreListed(t *testing.T) {
	db := newTestDB(t, CreateOptions{})
	c := &db.store.bg.compactions
	later, run := c.begin("x"), c.begin("db")
	run.total.Store(10)
	run.advance(4)
	list := db.store.Compactions()
	if len(list) != 2 || list[0].Database != "db" || list[0].Done != 4 || list[0].Total != 10 ||
		list[0].Updated.Before(list[0].Began.Truncate(1e9)) {
		t.Errorf("%+v", list)
	}
	want(t, "running", db.compactRunning(), true)
	c.end(run)
	c.end(later)
	want(t, "running", db.compactRunning(), false)
	want(t, "removed", c.removed.Load(), 4)
}
