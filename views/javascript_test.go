package views

import (
	"fmt"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// newScriptBench is a store whose views run JavaScript.
func newScriptBench(t *testing.T) *bench {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	pool := js.NewPool(js.Options{})
	t.Cleanup(pool.Close)
	b.views.opts.JS = pool
	return b
}

func TestJavaScript(t *testing.T) {
	b := newScriptBench(t)
	b.put(t, "a", `{"n":1}`)
	b.put(t, "b", `{"n":2}`)
	b.put(t, "c", `{"n":3}`)
	b.put(t, "_design/d", `{"views":{"lib":{"twice":"exports.f = function(x) { return 2 * x; }"},
		"v":{"map":"function(doc) { emit(doc._id, require('views/lib/twice').f(doc.n)); }","reduce":"function(k, v, r) { return sum(v); }"},
		"keys":{"map":"function(doc) { if (doc.n === 2) throw new Error('two'); emit(doc.n, Object.keys(doc)); }"}}}`)
	want(t, "rows", b.query(t, "d", "v", "reduce=false").rows, `[a "a"=2 b "b"=4 c "c"=6]`)
	want(t, "sum", b.query(t, "d", "v", "").rows, `[null=12]`)
	want(t, "groups", b.query(t, "d", "v", "group=true&descending=true").rows, `["c"=6 "b"=4 "a"=2]`)
	want(t, "a map that throws", b.query(t, "d", "keys", "").rows, `[a 1=["_id","_rev","n"] c 3=["_id","_rev","n"]]`)
	var failed []string
	must(t, b.views.Errors(t.Context(), b.db, "_design/d", "keys", func(e MapError) error {
		failed = append(failed, e.ID)
		return nil
	}))
	want(t, "failed", failed, "[b]")
}

// TestMembersOfSource: what map functions find in a document beside its body comes in the order of
// CouchDB.
func TestMembersOfSource(t *testing.T) {
	var revs []compat.Rev
	for _, text := range []string{"2-aa", "1-bb", "1-cc"} {
		rev, err := compat.ParseRev(text)
		must(t, err)
		revs = append(revs, rev)
	}
	doc := docread.Document{ID: "a", Rev: revs[0], Body: []byte(`{"n":1}`)}
	want(t, "plain", string(appendSource(nil, &doc, false, 7)), `{"_id":"a","_rev":"2-aa","n":1}`)
	doc.Conflicts = revs[1:2]
	doc.DeletedConflicts = revs[2:]
	doc.Attachments = []compat.Attachment{{Name: "t", Type: "x/y", RevPos: 1}}
	want(
		t,
		"all",
		string(appendSource(nil, &doc, true, 7)),
		`{"_id":"a","_rev":"2-aa","n":1,"_conflicts":["1-bb"],"_deleted_conflicts":["1-cc"],"_local_seq":7,`+
			`"_attachments":{"t":{"content_type":"x/y","revpos":1,"length":0,"stub":true}}}`,
	)
}

// TestFatalErrors: one map function that fails fatally keeps the whole design document from
// progress, until the document changes.
func TestFatalErrors(t *testing.T) {
	b := newScriptBench(t)
	b.put(
		t,
		"_design/d",
		`{"views":{"good":{"map":"function(doc) { emit(doc._id, 1); }"},"bad":{"map":"function(doc) { if (doc.fatal) throw(['fatal', 'not_found', 'gone']); }"}}}`,
	)
	b.put(t, "a", `{}`)
	want(t, "rows", len(b.query(t, "d", "good", "").rows), 1)
	b.put(t, "b", `{"fatal":true}`)
	for _, view := range []string{"good", "bad"} {
		err := b.tryQuery("d", view, "", discard{})
		if e, ok := compat.AsError(err); !ok || e.Status() != 404 || e.Reason != "gone" {
			t.Errorf("%s: %v", view, err)
		}
	}
	want(t, "stale rows", len(b.query(t, "d", "good", "update=false").rows), 1)
	b.put(t, "b", `{}`)
	want(t, "healed", len(b.query(t, "d", "good", "").rows), 2)
}

// TestCheckDesign has the errors of saving in CouchDB's order; recordings have the rest.
func TestCheckDesign(t *testing.T) {
	b := newScriptBench(t)
	for body, reason := range map[string]string{
		`{"views":{"v":{"map":"function(doc) { emit(1); }","reduce":"_sum"}}}`:                  "",
		`{"views":{"v":{"map":1}},"filters":{"f":1}}`:                                           "`filters.f` field must have string or object type",
		`{"views":{"v":{"map":1},"w":{"reduce":1}}}`:                                            "`views.v.map` field must have string type",
		`{"views":{"v":{"reduce":"_sum"}}}`:                                                     "View `v` must contain map function",
		`{"views":{"v":{"map":"function(doc) {}","reduce":"_foo"}}}`:                            "`_foo` is not a supported reduce function.",
		`{"views":{"v":{"map":"function(doc) {}","reduce":"_top_101"}}}`:                        "rank value must be between 1 and 100",
		`{"options":{"partitioned":true}}`:                                                      "partitioned option cannot be true in a non-partitioned database.",
		`{"options":{"partitioned":null}}`:                                                      "`options.partitioned` field must have boolean type",
		`{"rewrites":{}}`:                                                                       "`rewrites` field must have array or string type",
		`{"language":"klingon","views":{"v":{"map":"qapla'"}}}`:                                 "",
		`{"language":"query","views":{"v":{"map":"text"}}}`:                                     "`views.v.map` field must have object type",
		`{"views":{"v":{"map":"function(doc) { x }"},"w":{"map":"function(doc) { x }"}},"x":1}`: "",
	} {
		err := b.views.CheckDesign(t.Context(), "db", false, []byte(body))
		got := ""
		if e, ok := compat.AsError(err); ok {
			got = e.Reason
		} else if err != nil {
			got = err.Error()
		}
		want(t, body, got, reason)
	}
	err := b.views.CheckDesign(t.Context(), "db", false, []byte(`{"views":{"v":{"map":"function(doc) {"}}}`))
	if e, ok := compat.AsError(err); !ok || e.Kind != compat.KindCompilationError {
		t.Errorf("a function that does not compile: %v", err)
	}
}

// TestRefusedBySomebodyElse: a reduce function that refuses the rows of a map function fails the
// design document that has it, and no other one with the same map function; nor that one, once it
// has another reduce function.
func TestRefusedBySomebodyElse(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	b.put(t, "a", `{"emit":[[1,1]]}`)
	refused := func(when string) {
		t.Helper()
		if e, ok := compat.AsError(b.tryQuery("bad", "v", "", discard{})); !ok || e.Word() != "invalid_value" {
			t.Errorf("%s: error %v", when, e)
		}
	}
	count := func(when, ddoc string, n int) {
		t.Helper()
		want(t, when, b.query(t, ddoc, "v", "").rows, []string{fmt.Sprintf("null=%d", n)})
	}
	b.put(t, "_design/bad", designBody("emitter", `{"v":{"map":"a","reduce":"_stats"}}`))
	b.query(t, "bad", "v", "")
	b.put(t, "_design/good", designBody("emitter", `{"v":{"map":"a","reduce":"_count"},"w":{"map":"b"}}`))
	count("before", "good", 1)
	b.put(t, "b", `{"emit":[[2,"x"]]}`)
	count("a row that _stats refuses", "good", 2)
	refused("the row")
	b.put(t, "c", `{"emit":[[3,"x"]]}`)
	refused("another row")
	count("another row", "good", 3)
	b.put(t, "_design/bad", designBody("emitter", `{"v":{"map":"a","reduce":"_count"}}`))
	count("mended", "bad", 3)

	b.put(t, "_design/first", designBody("emitter", `{"v":{"map":"c","reduce":"_stats"}}`))
	if err := b.tryQuery("first", "v", "", discard{}); err == nil {
		t.Error("_stats takes all rows")
	}
	b.put(t, "_design/first", designBody("emitter", `{"v":{"map":"c","reduce":"_count"}}`))
	count("mended before anything was built", "first", 3)
}

// TestReplacedReduceFunctions: a reduce function that no design document has any more is not kept
// up, one that another document has is.
func TestReplacedReduceFunctions(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	b.put(t, "a", `{"emit":[[1,1]]}`)
	b.put(t, "_design/other", designBody("emitter", `{"v":{"map":"a","reduce":"_count"}}`))
	b.query(t, "other", "v", "")
	for _, source := range []string{"_first", "_last", "_sum"} {
		b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"a","reduce":"`+source+`"}}`))
		b.query(t, "d", "v", "")
	}
	d, _, err := b.views.openDesign(t.Context(), b.db, "_design/d")
	must(t, err)
	must(t, b.db.ViewAgain(t.Context(), func(s *storage.Snapshot) error {
		ix, err := readIndex(s, spaceOf(s), &d.definitions[0])
		must(t, err)
		var kept []string
		for _, s := range ix.rec.slots {
			kept = append(kept, s.source)
		}
		want(t, "functions", kept, []string{"_count", "_sum"})
		return nil
	}))
}

// TestStatsOverBuiltRows: a _stats that comes to rows that are there already refuses them as it
// does when it is there first.
func TestStatsOverBuiltRows(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	b.put(t, "a", `{"emit":[[1,"x"]]}`)
	b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"a"}}`))
	want(t, "rows", len(b.query(t, "d", "v", "").rows), 1)
	b.put(t, "_design/e", designBody("emitter", `{"v":{"map":"a","reduce":"_stats"},"w":{"map":"b"}}`))
	if e, ok := compat.AsError(b.tryQuery("e", "v", "reduce=false", discard{})); !ok || e.Word() != "invalid_value" {
		t.Errorf("error %v", e)
	}
}
