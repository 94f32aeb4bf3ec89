package n1ql

import (
	"errors"
	"fmt"
	"testing"
)

// wantDocs compares documents; "" is none.
func wantDocs(t *testing.T, f *fake, want map[string]string) {
	t.Helper()
	for id, body := range want {
		have := ""
		if d := f.docs[id]; d != nil {
			have = string(d.Body)
		}
		if have != body {
			t.Errorf("%s is %s, wanted %s", id, have, body)
		}
	}
}

// mutations runs a statement and returns how many documents it changed.
func mutations(t *testing.T, f *fake, text string) (int, error) {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	q, err := s.Bind(nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := q.Rows(t.Context(), f)
	if err != nil {
		return 0, err
	}
	r.Close()
	return r.Mutations(), nil
}

func TestInsert(t *testing.T) {
	f := newFake(t, nil)
	wantRows(t, f, `INSERT INTO p (KEY, VALUE, OPTIONS) VALUES ("a", {"x": 1}, {"expiration": 7}), VALUES ("b", {"y": [1.0]}) `+
		`RETURNING META().id, x, META().expiration`, `{"id":"a","x":1,"expiration":7}`, `{"id":"b","expiration":0}`)
	wantDocs(t, f, map[string]string{"a": `{"x":1}`, "b": `{"y":[1.0]}`})
	if f.docs["a"].Expiry != 7 || f.docs["b"].Expiry != 0 {
		t.Error(f.docs["a"], f.docs["b"])
	}
	_, err := mutations(t, f, `INSERT INTO p (KEY, VALUE) VALUES ("c", {}), ("a", {})`)
	var e *Error
	if !errors.As(err, &e) || e.Kind != KindDuplicate || e.ID != "a" {
		t.Error(err)
	}
	wantDocs(t, f, map[string]string{"a": `{"x":1}`, "c": `{}`})
	if n, err := mutations(t, f, `UPSERT INTO p VALUES ("a", {"z": 2}), ("d", {"a": 1})`); n != 2 || err != nil {
		t.Error(n, err)
	}
	wantDocs(t, f, map[string]string{"a": `{"z":2}`, "d": `{"a":1}`})
	wantRows(t, f, `UPSERT INTO p VALUES ("e", "text"), ("f", [1, null]), ("g", null) RETURNING META().id`,
		`{"id":"e"}`, `{"id":"f"}`, `{"id":"g"}`)
	wantDocs(t, f, map[string]string{"e": `{"$value":"text"}`, "f": `{"$value":[1,null]}`, "g": `{"$value":null}`})
}

func TestUpdate(t *testing.T) {
	f := newFake(t, map[string]string{
		"a": `{"n":1,"o":{"p":1},"l":[1,2]}`, "b": `{"n":2}`, "c": `{"n":3,"big":123456789012345678901234567890,"d":1.0}`,
	})
	f.docs["a"].Expiry = 9
	wantRows(t, f, `UPDATE p SET n = n + 10, m = n, p.o.p = 5, l[1] = {"x": n}, o.q.r = 1, q.r = 1, l[7] = 1, n.x = 2 `+
		`UNSET l[0], nothing WHERE n = 1 RETURNING *`, `{"p":{"n":11,"o":{"p":5},"l":[{"x":1}],"m":1}}`)
	wantDocs(t, f, map[string]string{"a": `{"n":11,"o":{"p":5},"l":[{"x":1}],"m":1}`, "b": `{"n":2}`})
	if f.docs["a"].Expiry != 9 {
		t.Error("UPDATE removed the expiration")
	}
	if n, err := mutations(t, f, `UPDATE p x USE KEYS ["c", "none", "c"] SET x.n = MISSING`); n != 1 || err != nil {
		t.Error(n, err)
	}
	wantDocs(t, f, map[string]string{"c": `{"big":123456789012345678901234567890,"d":1.0}`})
	if n, err := mutations(t, f, `UPDATE p SET y = TRUE LIMIT 2`); n != 2 || err != nil {
		t.Error(n, err)
	}
	if n, err := mutations(t, f, `UPDATE p AS x USE KEYS "b" SET x = {"whole": x.n}`); n != 1 || err != nil {
		t.Error(n, err)
	}
	wantDocs(t, f, map[string]string{"b": `{"whole":2}`})
	if _, err := mutations(t, f, `UPDATE p AS x USE KEYS "b" SET x = 1`); err == nil {
		t.Error("a document became a number")
	}
	if n, err := mutations(t, f, `UPDATE p SET y = TRUE LIMIT 0`); n != 0 || err != nil {
		t.Error(n, err)
	}
}

func TestDelete(t *testing.T) {
	f := people(t)
	wantRows(t, f, `DELETE FROM p WHERE city = "Rome" RETURNING RAW name`, `"Bob"`, `"Dora"`)
	wantDocs(t, f, map[string]string{"bob": "", "dora": ""})
	if n, err := mutations(t, f, `DELETE FROM p LIMIT 1`); n != 1 || err != nil || len(f.docs) != 2 {
		t.Error(n, err)
	}
	if n, err := mutations(t, f, `DELETE FROM p USE KEYS "emil" WHERE city = "Oslo"`); n != 0 || err != nil {
		t.Error(n, err)
	}
}

// TestConflicts: a document that others change meanwhile is read again, and asked again whether it
// is meant.
func TestConflicts(t *testing.T) {
	f := newFake(t, map[string]string{"a": `{"n":1}`})
	changes := 0
	f.beforeWrite = func(Write) {
		if changes++; changes <= 2 {
			f.put("a", fmt.Sprintf(`{"n":%d}`, 10*changes))
		}
	}
	if n, err := mutations(t, f, `UPDATE p SET n = n + 1 WHERE n > 0`); n != 1 || err != nil {
		t.Error(n, err)
	}
	wantDocs(t, f, map[string]string{"a": `{"n":21}`})

	f.beforeWrite = func(Write) { f.put("a", `{"n":5}`) }
	_, err := mutations(t, f, `UPDATE p SET n = 0`)
	if !isKind(err, KindConflict) {
		t.Error(err)
	}
	f.beforeWrite = func(Write) { f.put("a", `{"n":-1}`) }
	if n, err := mutations(t, f, `DELETE FROM p WHERE n > 0`); n != 0 || err != nil || f.docs["a"] == nil {
		t.Error(n, err)
	}
	f.put("a", `{"n":1}`)
	f.beforeWrite = func(Write) { delete(f.docs, "a") }
	if n, err := mutations(t, f, `UPDATE p SET n = 0`); n != 0 || err != nil || f.docs["a"] != nil {
		t.Error(n, err)
	}
}

// TestNoDocumentTwice: documents that a statement moves behind those that it still looks for are
// not found again.
func TestNoDocumentTwice(t *testing.T) {
	docs := map[string]string{}
	for i := range 300 {
		docs[fmt.Sprintf("%03d", i)] = `{"n":0}`
	}
	f := newFake(t, docs)
	if n, err := mutations(t, f, `UPDATE p SET n = n + 1 WHERE n >= 0`); n != 300 || err != nil {
		t.Error(n, err)
	}
	for id, d := range f.docs {
		if string(d.Body) != `{"n":1}` {
			t.Errorf("%s is %s", id, d.Body)
		}
	}
}
