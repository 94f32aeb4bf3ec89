package n1ql

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// joinDoc is a document of the model: n is its number, which is in its id.
type joinDoc struct {
	N  int   `json:"n"`
	V  any   `json:"v,omitempty"`
	Ks []any `json:"ks,omitempty"`
	K  any   `json:"k,omitempty"`
}

func joinID(n int) string { return fmt.Sprintf("d%03d", n) }

// drawJoinDocs draws documents whose values and keys meet often; some are more than one block has.
func drawJoinDocs(rt *rapid.T) []joinDoc {
	n := rapid.IntRange(0, 9).Draw(rt, "documents")
	if rapid.IntRange(0, 19).Draw(rt, "many") == 0 {
		n = keysAtOnce + rapid.IntRange(-1, 30).Draw(rt, "more")
	}
	key := rapid.Custom(func(rt *rapid.T) any {
		if rapid.IntRange(0, 5).Draw(rt, "no key") == 0 {
			return rapid.SampledFrom([]any{7.0, "none", ""}).Draw(rt, "odd")
		}
		return joinID(rapid.IntRange(0, max(n, 1)).Draw(rt, "of"))
	})
	docs := make([]joinDoc, n)
	for i := range docs {
		docs[i] = joinDoc{
			N: i, V: rapid.SampledFrom([]any{nil, 1.0, 2.0, "x", "X"}).Draw(rt, "v"),
			Ks: rapid.SliceOfN(key, 0, 4).Draw(rt, "ks"),
		}
		if rapid.Bool().Draw(rt, "has k") {
			docs[i].K = key.Draw(rt, "k")
		}
	}
	return docs
}

// joinRow is a row of the model: what each alias stands for, a document, several, an element, or nil.
type joinRow map[string]any

// joinClause is a join twice: as text, and as what it adds to a row.
type joinClause struct {
	text  string
	nests bool
	adds  func(row joinRow) []any
}

// drawJoin draws a join of alias b with what is called a.
func drawJoin(rt *rapid.T, docs []joinDoc, a, b string) joinClause {
	left := rapid.Bool().Draw(rt, "left")
	word := rapid.SampledFrom([]string{"JOIN", "NEST", "UNNEST"}).Draw(rt, "join")
	of := func(row joinRow) *joinDoc { d, _ := row[a].(*joinDoc); return d }
	// joined are the documents for which a condition holds; l is nil for what is no document.
	joined := func(holds func(l, r *joinDoc) bool) func(joinRow) []any {
		return func(row joinRow) (list []any) {
			for i := range docs {
				if holds(of(row), &docs[i]) {
					list = append(list, &docs[i])
				}
			}
			return list
		}
	}
	c := joinClause{nests: word == "NEST"}
	on := ""
	switch kind := rapid.IntRange(0, 5).Draw(rt, "on"); {
	case word == "UNNEST":
		on = fmt.Sprintf("%s.ks AS %s", a, b)
		c.adds = func(row joinRow) []any {
			if l := of(row); l != nil {
				return l.Ks
			}
			return nil
		}
	case kind == 0:
		on = fmt.Sprintf("p AS %s ON KEYS %s.ks", b, a)
		c.adds = func(row joinRow) (list []any) {
			if l := of(row); l != nil {
				for _, key := range l.Ks {
					for i := range docs {
						if key == joinID(i) {
							list = append(list, &docs[i])
						}
					}
				}
			}
			return list
		}
	case kind == 1:
		on = fmt.Sprintf("p AS %s ON META(%s).id = %s.k", b, b, a)
		c.adds = joined(func(l, r *joinDoc) bool { return l != nil && l.K == joinID(r.N) })
	case kind == 5:
		on = fmt.Sprintf("p %s ON KEY %s.k FOR %s", b, b, a)
		c.adds = joined(func(l, r *joinDoc) bool { return l != nil && r.K == joinID(l.N) })
	case kind == 2:
		on = fmt.Sprintf("p %s ON %s.v = %s.v", b, a, b)
		c.adds = joined(func(l, r *joinDoc) bool { return l != nil && l.V != nil && l.V == r.V })
	case kind == 3:
		on = fmt.Sprintf("p AS %s ON %s.v = %s.v AND %s.n > %s.n", b, b, a, b, a)
		c.adds = joined(func(l, r *joinDoc) bool { return l != nil && l.V != nil && l.V == r.V && r.N > l.N })
	default:
		on = fmt.Sprintf("p AS %s ON %s.n + 1 = %s.n OR %s.n = 0", b, a, b, b)
		c.adds = joined(func(l, r *joinDoc) bool { return l != nil && l.N+1 == r.N || r.N == 0 })
	}
	if c.text = " " + word + " " + on; left {
		c.text = " LEFT" + c.text
	}
	inner := c.adds
	c.adds = func(row joinRow) []any {
		list := inner(row)
		if c.nests && (len(list) > 0 || left) {
			return []any{list}
		}
		if len(list) == 0 && left {
			return []any{nil}
		}
		return list
	}
	return c
}

// apply makes the rows of the model longer.
func (c *joinClause) apply(rows []joinRow, alias string) (longer []joinRow) {
	for _, row := range rows {
		for _, v := range c.adds(row) {
			next := joinRow{alias: v}
			for name, other := range row {
				next[name] = other
			}
			longer = append(longer, next)
		}
	}
	return longer
}

// shownTerm is what `ARRAY …` or `x.n` shows of a term of the model.
func shownTerm(v any) any {
	switch v := v.(type) {
	case *joinDoc:
		return float64(v.N)
	case []any:
		list := []any{}
		for _, d := range v {
			list = append(list, shownTerm(d))
		}
		return list
	}
	return v
}

// sortedRows are rows in an order that does not depend on how they were found.
func sortedRows(rt *rapid.T, rows []any) string {
	var texts []string
	for _, row := range rows {
		text, err := json.Marshal(row)
		if err != nil {
			rt.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	slices.Sort(texts)
	return strings.Join(texts, "\n")
}

// TestJoinsAgainstModel: joins have the rows of nested loops over all documents, with an index and
// without one, with WHERE, LET and groups.
func TestJoinsAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		docs := drawJoinDocs(rt)
		f := newFake(t, nil)
		f.indexed = rapid.Bool().Draw(rt, "indexed")
		all := make([]joinRow, len(docs))
		for i := range docs {
			body, err := json.Marshal(&docs[i])
			if err != nil {
				rt.Fatal(err)
			}
			f.put(joinID(i), string(body))
			all[i] = joinRow{"a": &docs[i]}
		}
		text, aliases := "p AS a", []string{"a"}
		nested := map[string]bool{}
		for _, b := range []string{"b", "c"}[:rapid.IntRange(1, 2).Draw(rt, "joins")] {
			c := drawJoin(rt, docs, rapid.SampledFrom(aliases).Draw(rt, "with"), b)
			text += c.text
			aliases = append(aliases, b)
			all = c.apply(all, b)
			nested[b] = c.nests || strings.Contains(c.text, "UNNEST")
		}
		if rapid.Bool().Draw(rt, "let") {
			text += " LET x = a.n, y = x"
		} else {
			text += " LET y = a.n"
		}
		if rapid.Bool().Draw(rt, "where") {
			text += ` WHERE a.v = 1 OR y = 2`
			all = slices.DeleteFunc(all, func(row joinRow) bool {
				a := row["a"].(*joinDoc)
				return a.V != 1.0 && a.N != 2
			})
		}
		var want []any
		if rapid.Bool().Draw(rt, "group") {
			text = "SELECT a.v AS v, COUNT(*) AS n, MAX(y) AS m FROM " + text + " GROUP BY a.v HAVING COUNT(*) > 1"
			groups := map[any][]float64{}
			for _, row := range all {
				a := row["a"].(*joinDoc)
				groups[a.V] = append(groups[a.V], float64(a.N))
			}
			for v, ns := range groups {
				if len(ns) < 2 {
					continue
				}
				row := map[string]any{"n": float64(len(ns)), "m": slices.Max(ns)}
				if v != nil { // it is MISSING, and left out of the row
					row["v"] = v
				}
				want = append(want, row)
			}
		} else {
			list := "a.n AS a"
			for _, b := range aliases[1:] {
				if nested[b] {
					list += fmt.Sprintf(", CASE WHEN IS_ARRAY(%s) THEN ARRAY z.n FOR z IN %s END ELSE %s END AS %s", b, b, b, b)
				} else {
					list += fmt.Sprintf(", %s.n AS %s", b, b)
				}
			}
			text = "SELECT " + list + " FROM " + text
			for _, row := range all {
				shown := map[string]any{}
				for name, v := range row {
					if v != nil {
						shown[name] = shownTerm(v)
					}
				}
				want = append(want, shown)
			}
		}
		have, err := rows(t, f, text, "")
		if err != nil {
			rt.Fatalf("%s: %v", text, err)
		}
		var got []any
		for _, row := range have {
			got = append(got, decoded(rt, row))
		}
		if got, want := sortedRows(rt, got), sortedRows(rt, want); got != want {
			rt.Fatalf("%s\nhas\n%s\nwanted\n%s", text, got, want)
		}
	})
}

// TestJoinReads: the documents of a block are asked for together, and no more than LIMIT wants.
func TestJoinReads(t *testing.T) {
	f := newFake(t, nil)
	const left = 2*keysAtOnce + 50
	for i := range left {
		f.put(joinID(i), fmt.Sprintf(`{"n":%d,"k":%q,"v":%d}`, i, joinID(left-1-i), i%5))
	}
	count := func(statement string, rowsWanted, gets, finds int) {
		t.Helper()
		f.gets, f.finds = nil, nil
		have, err := rows(t, f, statement, "")
		if err != nil || len(have) != rowsWanted || len(f.gets) != gets || len(f.finds) != finds {
			t.Errorf("%s: %d rows, %d Gets, %d Finds, %v", statement, len(have), len(f.gets), len(f.finds), err)
		}
	}
	count("SELECT b.n FROM p a JOIN p b ON KEYS a.k", left, 3, 1)
	count("SELECT b.n FROM p a JOIN p b ON META(b).id = a.k", left, 3, 1)
	count("SELECT b.n FROM p a JOIN p b ON KEYS a.k LIMIT 5", 5, 1, 1)
	count("SELECT b.n FROM p a JOIN p b ON KEYS a.k JOIN p c ON KEYS b.k", left, 6, 1)
	// No index: the second keyspace is read once for a block, after the first row has asked for one.
	count("SELECT b.n FROM p a JOIN p b ON b.n = a.n + 1", left-1, 0, 1+1+3)
	f.indexed = true
	count("SELECT b.n FROM p a JOIN p b ON b.n = a.n + 1", left-1, 0, 1+left)
	count("SELECT b.n FROM p a JOIN p b ON b.n = a.none", 0, 0, 1)
	count("SELECT x FROM p a UNNEST [1, 2] AS x", 2*left, 0, 1)
}

// TestJoinMemory: what joins hold is asked for, bounded, and given back after each block.
func TestJoinMemory(t *testing.T) {
	f := newFake(t, nil)
	text := strings.Repeat("x", 50<<10)
	for i := range 300 {
		f.put(joinID(i), fmt.Sprintf(`{"n":%d,"v":1,"text":%q}`, i, text))
	}
	f.most = 12 << 20
	have, err := rows(t, f, "SELECT a.n FROM p a JOIN p b ON b.n = a.n + 1", "")
	if err != nil || len(have) != 299 {
		t.Errorf("%d rows, %v, holds %d", len(have), err, f.held)
	}
	f.held = 0
	if _, err := rows(t, f, "SELECT ARRAY_LENGTH(b) FROM p a USE KEYS $k NEST p b ON b.v = a.v", `{"k":"d001"}`); !isKind(
		err, KindLimit,
	) {
		t.Errorf("30 MB in an array: %v", err)
	}
}
