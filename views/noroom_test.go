package views

import (
	"testing"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestNoRoom: while there is no room, queries are answered that need no update of their index, and
// indexes that follow their documents.
func TestNoRoom(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	noRoom := false
	b.views.opts.NoRoom = func() bool { return noRoom }
	const two = `{"v":{"map":"a","reduce":"_sum"},"never":{"map":"b"}}`
	b.put(t, "_design/d", designBody("emitter", two))
	b.put(t, "_design/q", designBody(languageQuery, two))
	b.put(t, "a", `{"emit":[[1,1]]}`)
	b.query(t, "d", "v", "reduce=false")
	b.query(t, "q", "v", "reduce=false")
	refused := func(options string) {
		t.Helper()
		if err := b.tryQuery("d", "v", options, &collected{}); err == nil || err.Error() != errNoRoom.Error() {
			t.Errorf("%q: %v", options, err)
		}
	}
	noRoom = true
	want(t, "fresh", b.query(t, "d", "v", "").rows, "[null=1]")
	b.put(t, "b", `{"emit":[[2,2]]}`)
	refused("")
	refused("reduce=false")
	refused("group=true")
	want(t, "as it is", b.query(t, "d", "v", "update=false").rows, "[null=1]")
	want(t, "interactive", b.query(t, "q", "v", "").rows, "[null=3]")
	b.put(t, "_design/new", designBody("emitter", `{"v":{"map":"c"}}`))
	w, err := b.views.View(t.Context(), b.db, "_design/new", "v")
	must(t, err)
	if err := w.Wait(t.Context()); err != errNoRoom {
		t.Error(err)
	}
	noRoom = false
	want(t, "later", b.query(t, "d", "v", "").rows, "[null=3]")
}
