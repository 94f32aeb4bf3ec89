package n1ql

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// mergeModel is a MERGE twice: as text, and as what it does with decoded documents.
type mergeModel struct {
	byKey                  bool
	matches                func(s joinDoc, id string, target map[string]any) bool
	update, remove, insert bool
	most                   int // LIMIT, or many
}

// drawMerge draws a statement that merges p into q.
func drawMerge(rt *rapid.T) (string, mergeModel) {
	m := mergeModel{most: 1000}
	text := "MERGE INTO q AS t USING p AS s ON "
	on := rapid.IntRange(0, 3).Draw(rt, "on")
	switch on {
	case 0:
		m.byKey = true
		text += "KEY s.k"
		m.matches = func(s joinDoc, id string, _ map[string]any) bool { return s.K == id }
	case 1:
		text += "META(t).id = s.k"
		m.matches = func(s joinDoc, id string, _ map[string]any) bool { return s.K == id }
	case 2:
		text += "t.v = s.v AND t.n > s.n"
		m.matches = func(s joinDoc, _ string, t map[string]any) bool {
			return s.V != nil && t["v"] == s.V && t["n"].(float64) > float64(s.N)
		}
	default:
		text += "t.n = s.n"
		m.matches = func(s joinDoc, _ string, t map[string]any) bool { return t["n"] == float64(s.N) }
	}
	if m.update = rapid.Bool().Draw(rt, "update"); m.update {
		text += " WHEN MATCHED THEN UPDATE SET t.m = s.n + t.n, t.o = {\"k\": s.k} UNSET t.v WHERE t.n != 2"
	}
	if m.remove = rapid.Bool().Draw(rt, "remove"); m.remove {
		text += " WHEN MATCHED THEN DELETE WHERE s.n % 2 = 0"
	}
	if m.insert = !m.update && !m.remove || rapid.Bool().Draw(rt, "insert"); m.insert {
		text += " WHEN NOT MATCHED THEN INSERT "
		if m.byKey {
			text += `{"n": s.n, "new": TRUE}`
		} else {
			text += rapid.SampledFrom([]string{
				`("new" || TO_STRING(s.v), {"n": s.n, "new": TRUE})`,
				`(KEY "new" || TO_STRING(s.v), VALUE {"n": s.n, "new": TRUE})`,
			}).Draw(rt, "key")
		}
		text += " WHERE s.n > 0"
	}
	// Where a source has several targets, which rows come first is up to how they are found.
	if on != 2 && rapid.IntRange(0, 3).Draw(rt, "limited") == 0 {
		m.most = rapid.IntRange(0, 3).Draw(rt, "limit")
		text += fmt.Sprintf(" LIMIT %d", m.most)
	}
	return text + " RETURNING s.n AS s, t.n AS t", m
}

// apply does what the statement does; ok is false where it is refused, and changes nothing then.
func (m *mergeModel) apply(source []joinDoc, target map[string]map[string]any) (map[string]map[string]any, bool) {
	after := maps.Clone(target)
	done := map[string]bool{}
	// mean counts a row that does something with a document; more is false if LIMIT wants no more.
	mean := func(id string) (ok, more bool) {
		if done[id] {
			return false, false
		}
		done[id] = true
		return true, len(done) < m.most
	}
	for _, s := range source {
		if m.most == 0 {
			break
		}
		matched := false
		for i := range 1000 {
			id := joinID(i)
			t := target[id]
			if t == nil || !m.matches(s, id, t) {
				continue
			}
			matched = true
			update, remove := m.update && t["n"] != 2.0, m.remove && s.N%2 == 0
			if !update && !remove {
				continue
			}
			ok, more := mean(id)
			if !ok {
				return target, false
			}
			if delete(after, id); !remove {
				changed := maps.Clone(t)
				changed["m"], changed["o"] = float64(s.N)+t["n"].(float64), map[string]any{}
				if s.K != nil {
					changed["o"] = map[string]any{"k": s.K}
				}
				delete(changed, "v")
				after[id] = changed
			}
			if !more {
				return after, true
			}
		}
		if matched || !m.insert || s.N == 0 {
			continue
		}
		id, isText := s.K.(string)
		if !m.byKey {
			v, known := s.V.(string)
			if n, number := s.V.(float64); number {
				v, known = fmt.Sprint(n), true
			}
			id, isText = "new"+v, known
		}
		if !isText || id == "" {
			return target, false
		}
		ok, more := mean(id)
		if !ok {
			return target, false
		}
		after[id] = map[string]any{"n": float64(s.N), "new": true}
		if !more {
			break
		}
	}
	return after, true
}

// TestMergeAgainstModel: MERGE leaves the documents that nested loops leave, and changes nothing where
// rows mean a document two times or have no key.
func TestMergeAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		source := drawJoinDocs(rt)
		source = source[:min(len(source), 8)]
		f, q := newFake(t, nil), newFake(t, nil)
		q.indexed = rapid.Bool().Draw(rt, "indexed")
		f.others = map[string]*fake{"q": q}
		for i := range source {
			body, err := json.Marshal(&source[i])
			if err != nil {
				rt.Fatal(err)
			}
			f.put(joinID(i), string(body))
		}
		target := map[string]map[string]any{}
		for i := range rapid.IntRange(0, 8).Draw(rt, "targets") {
			v := rapid.SampledFrom([]any{1.0, 2.0, "x", "X"}).Draw(rt, "v")
			body, err := json.Marshal(map[string]any{"n": i, "v": v})
			if err != nil {
				rt.Fatal(err)
			}
			q.put(joinID(i), string(body))
			target[joinID(i)] = map[string]any{"n": float64(i), "v": v}
		}
		text, m := drawMerge(rt)
		want, allowed := m.apply(source, target)
		have, err := rows(t, f, text, "")
		if (err == nil) != allowed || err != nil && !isKind(err, KindInvalid) {
			rt.Fatalf("%s: %v, allowed %t", text, err, allowed)
		}
		left := map[string]map[string]any{}
		for id, d := range q.docs {
			left[id] = decoded(rt, string(d.Body)).(map[string]any)
		}
		if !reflect.DeepEqual(left, want) {
			rt.Fatalf("%s of %v\nleaves %v\nwanted %v", text, source, left, want)
		}
		for _, row := range have {
			if !strings.Contains(row, `"s":`) {
				rt.Fatalf("%s returns %s", text, row)
			}
		}
	})
}

// TestMerge: a source may be an array or a subquery, the document of the target is the one that is
// there when it is written, and its expiration stays.
func TestMerge(t *testing.T) {
	f, q := newFake(t, map[string]string{"a": `{"k":"x","n":1}`, "b": `{"k":"y","n":2}`}), newFake(t, nil)
	f.others = map[string]*fake{"q": q}
	q.put("x", `{"n":10}`)
	q.docs["x"].Expiry = 9
	wantRows(t, f, `MERGE INTO q USING (SELECT k, SUM(n) AS n FROM p GROUP BY k) AS s ON KEY s.k `+
		`WHEN MATCHED THEN UPDATE SET q.n = q.n + s.n WHEN NOT MATCHED THEN INSERT {"n": s.n} RETURNING META(q).id, *`,
		`{"id":"x","s":{"k":"x","n":1},"q":{"n":11}}`, `{"id":"y","s":{"k":"y","n":2},"q":{"n":2}}`)
	wantDocs(t, q, map[string]string{"x": `{"n":11}`, "y": `{"n":2}`})
	if q.docs["x"].Expiry != 9 {
		t.Error("MERGE removed the expiration")
	}
	changes := 0
	q.beforeWrite = func(Write) {
		if changes++; changes == 1 {
			q.put("x", `{"n":100}`)
		}
	}
	wantRows(t, f, `MERGE INTO q t USING [{"k": "x"}, {"k": "z", "d": 5}] AS s ON t.n > 0 AND META(t).id = s.k `+
		`WHEN MATCHED THEN UPDATE SET t.n = t.n + 1 WHEN NOT MATCHED THEN INSERT (KEY s.k, VALUE s, OPTIONS {"expiration": s.d})`)
	wantDocs(t, q, map[string]string{"x": `{"n":101}`, "z": `{"k":"z","d":5}`})
	if q.docs["z"].Expiry != 5 {
		t.Error("INSERT has no expiration")
	}
	q.beforeWrite = func(Write) { q.put("y", `{"n":-1}`) }
	wantRows(t, f, `MERGE INTO q USING p s ON KEY s.k WHEN MATCHED THEN DELETE WHERE q.n = 2`)
	if q.docs["y"] == nil {
		t.Error("a document was removed that others have changed so that it is not meant")
	}
	q.beforeWrite = nil
	wantRows(t, f, `MERGE INTO q USING p s ON KEY k WHEN MATCHED THEN DELETE`)
	wantDocs(t, q, map[string]string{"x": "", "y": "", "z": `{"k":"z","d":5}`})
}

// TestInsertSelect: the rows of a SELECT become documents, of which none is read again.
func TestInsertSelect(t *testing.T) {
	f := newFake(t, map[string]string{"a": `{"n":1}`, "b": `{"n":2}`})
	wantRows(t, f, `INSERT INTO p (KEY "new" || TO_STRING(n), VALUE {"of": n}, OPTIONS {"expiration": n}) `+
		`SELECT n FROM p WHERE n > 0 RETURNING META().id, of`, `{"id":"new1","of":1}`, `{"id":"new2","of":2}`)
	if d := f.docs["new2"]; len(f.docs) != 4 || string(d.Body) != `{"of":2}` || d.Expiry != 2 {
		t.Error(len(f.docs))
	}
	wantRows(t, f, `UPSERT INTO p (KEY id, VALUE x) SELECT META(x).id, x FROM p x WHERE x.n = 1`)
	wantDocs(t, f, map[string]string{"a": `{"n":1}`})
}
