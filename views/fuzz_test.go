package views

import (
	"bytes"
	"context"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
)

func FuzzRecord(f *testing.F) {
	r := indexRecord{
		number:      300,
		interactive: true,
		levels:      true,
		seq:         storage.Seq{Incarnation: 1},
		levelHeight: 4,
		levelFan:    32,
		slots:       []slot{{1, "_sum"}},
	}
	f.Add(r.encode())
	f.Add([]byte{formatVersion, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, usable, err := parseRecord(b)
		if err != nil || !usable {
			return
		}
		again, _, err := parseRecord(r.encode())
		if err != nil || !bytes.Equal(again.encode(), r.encode()) {
			t.Errorf("%+v becomes %+v (%v)", r, again, err)
		}
	})
}

func FuzzIDs(f *testing.F) {
	c := collector{}
	c.begin("doc")
	c.emit([]byte(`[1,"a"]`), []byte(`{"x":1}`))
	c.emit([]byte(`[1,"a"]`), []byte(`2`))
	rows := c.end("doc").rows
	f.Add(appendIDs(nil, rows, 0, false))
	f.Add(appendIDs(nil, rows, 0, true))
	f.Add([]byte{idsFailed})
	f.Fuzz(func(t *testing.T, b []byte) {
		kept, err := parseIDs(b, nil, "doc", nil)
		if err == nil && len(kept) > len(b) {
			t.Errorf("%d rows of %d bytes", len(kept), len(b))
		}
	})
}

func FuzzRow(f *testing.F) {
	c := collector{}
	c.begin("doc")
	c.emit([]byte(`"key"`), []byte(`[null]`))
	r := c.end("doc").rows[0]
	f.Add(r.rowKey, r.value)
	f.Fuzz(func(t *testing.T, rowKey, value []byte) {
		if r, err := parseRow(rowKey, value); err == nil && len(r.key)+len(r.value) > len(value) {
			t.Error("more came out than went in")
		}
	})
}

func FuzzInteractiveList(f *testing.F) {
	list := interactiveList{
		{
			signature: Signature{1},
			def:       definition{language: "query", source: "{}"},
			record:    indexRecord{number: 1},
			owners:    []string{"_design/a"},
		},
	}
	f.Add(list.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parseInteractive(b)
		if err != nil {
			return
		}
		again, err := parseInteractive(list.encode())
		if err != nil || !bytes.Equal(again.encode(), list.encode()) {
			t.Errorf("%x: %v", b, err)
		}
	})
}

func FuzzJobError(f *testing.F) {
	f.Add(encodeError(compat.Named(compat.KindNotFound, "word", "reason").WithRef()))
	f.Fuzz(func(t *testing.T, b []byte) { _ = decodeError(b) })
}

// FuzzDesign: any design document is parsed and checked without a panic, and equal ones have equal
// signatures.
func FuzzDesign(f *testing.F) {
	f.Add(
		[]byte(
			`{"language":"emitter","options":{"partitioned":false},"views":{"lib":{"a":"b"},"v":{"map":"a","reduce":"_sum","options":{"collation":"raw"}},"w":{"map":"a"}}}`,
		),
	)
	f.Add([]byte(`{"views":{"v":{"map":1}}}`))
	f.Add([]byte(`{"language":"query","views":{"v":{"map":{"fields":{"a":"asc"}},"reduce":"_count"}}}`))
	v := &Views{opts: Options{Languages: map[string]Language{"emitter": emitter{}}}}
	f.Fuzz(func(t *testing.T, b []byte) {
		body, err := ejson.Parse(b)
		if err != nil || body.Kind() != ejson.Object {
			return
		}
		kind := databaseKind{true, true}
		one, two := parseDesign("_design/a", body, kind), parseDesign("_design/b", body, kind)
		if one.signature != two.signature {
			t.Error("the name of a design document is in its signature")
		}
		_ = v.CheckDesign(context.Background(), "db", false, b)
	})
}
