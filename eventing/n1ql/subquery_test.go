package n1ql

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// queryModel draws queries twice: as text, and as functions of what their names stand for, which give
// rows by nested loops over decoded documents.
type queryModel struct {
	*rapid.T
	docs    []joinDoc
	decoded []any
	aliases int
}

// rowsOf are the rows of a query for what is around it: alias → value.
type rowsOf func(around map[string]any) []any

// with is what is around a row's expressions.
func with(around map[string]any, alias string, v any) map[string]any {
	row := map[string]any{alias: v}
	for name, other := range around {
		if name != alias {
			row[name] = other
		}
	}
	return row
}

// scalar draws a value that is no subquery, of one of some aliases.
func (m *queryModel) scalar(names []string) clause {
	kind := m.pick("scalar", 5)
	if len(names) == 0 || kind == 0 {
		n := float64(m.pick("constant", 3))
		return clause{fmt.Sprint(n), func(map[string]any) any { return n }}
	}
	name := rapid.SampledFrom(names).Draw(m.T, "of")
	field := []string{"n", "v", "k", "ks"}[kind-1]
	return clause{name + "." + field, func(row map[string]any) any { return below(row[name], field, -1) }}
}

func (m *queryModel) pick(what string, n int) int { return rapid.IntRange(0, n-1).Draw(m.T, what) }

// value draws what SELECT gives of a row.
func (m *queryModel) value(names []string, depth int) clause {
	if depth == 0 || m.pick("value", 3) > 0 {
		return m.scalar(names)
	}
	text, rows := m.query(names, depth-1)
	array := clause{"(" + text + ")", func(row map[string]any) any { return rows(row) }}
	if m.pick("element", 3) > 0 {
		return array
	}
	return clause{array.text + "[0]", func(row map[string]any) any { return below(array.of(row), "", 0) }}
}

// condition draws what WHERE has.
func (m *queryModel) condition(names []string, depth int) clause {
	kind := m.pick("condition", 5)
	if depth == 0 {
		kind = min(kind, 1)
	}
	switch kind {
	case 0:
		return modelComparisonOf("=", m.scalar(names), m.scalar(names))
	case 1, 2:
		op := rapid.SampledFrom([]string{"=", "!=", "<", "<=", ">", ">="}).Draw(m.T, "op")
		return modelComparisonOf(op, m.value(names, depth), m.value(names, depth))
	case 3:
		text, rows := m.query(names, depth-1)
		not := rapid.SampledFrom([]string{"", "NOT "}).Draw(m.T, "not")
		return clause{not + "EXISTS (" + text + ")", func(row map[string]any) any {
			return (len(rows(row)) > 0) == (not == "")
		}}
	}
	of := m.scalar(names)
	text, rows := m.query(names, depth-1)
	return clause{of.text + " IN (" + text + ")", func(row map[string]any) any {
		v, found := of.of(row), any(false)
		if unknown(v) {
			return v
		}
		for _, element := range rows(row) {
			switch {
			case order(v, element) == 0:
				return true
			case unknown(element):
				found = nil
			}
		}
		return found
	}}
}

// query draws SELECT RAW, or several with an operator between them.
func (m *queryModel) query(names []string, depth int) (string, rowsOf) {
	if depth > 0 && m.pick("operator", 4) == 0 {
		op := rapid.SampledFrom([]string{"UNION", "INTERSECT", "EXCEPT"}).Draw(m.T, "set")
		all := rapid.Bool().Draw(m.T, "all")
		left, first := m.query(names, depth-1)
		right, second := m.query(names, depth-1)
		text := "(" + left + ") " + op
		if all {
			text += " ALL"
		}
		return text + " (" + right + ")", func(around map[string]any) []any {
			return setModel(op, all, first(around), second(around))
		}
	}
	return m.selection(names, depth)
}

// setModel is what an operator makes of two lists.
func setModel(op string, all bool, first, second []any) (rows []any) {
	index := func(list []any, v any) int {
		return slices.IndexFunc(list, func(o any) bool { return order(o, v) == 0 })
	}
	rest := slices.Clone(second)
	switch op {
	case "UNION":
		rows = slices.Concat(first, second)
	default:
		for _, v := range first {
			at := index(rest, v)
			if (at >= 0) == (op == "INTERSECT") {
				rows = append(rows, v)
			}
			if at >= 0 && all {
				rest = slices.Delete(rest, at, at+1)
			}
		}
	}
	if all {
		return rows
	}
	var once []any
	for _, v := range rows {
		if index(once, v) < 0 {
			once = append(once, v)
		}
	}
	return once
}

// from draws a term of FROM: a keyspace, keys of it that a row around names, a subquery, or an array
// that is around.
func (m *queryModel) from(names []string, alias string, depth int) (string, rowsOf) {
	kind := m.pick("from", 6)
	switch {
	case kind == 0 && depth > 0:
		text, rows := m.query(names, depth-1)
		return "(" + text + ") AS " + alias, rows
	case kind == 1 && len(names) > 0:
		name := rapid.SampledFrom(names).Draw(m.T, "array of")
		return name + ".ks AS " + alias, func(around map[string]any) []any {
			list, _ := below(around[name], "ks", -1).([]any)
			return list
		}
	case kind == 2 && len(names) > 0:
		name := rapid.SampledFrom(names).Draw(m.T, "keys of")
		return "p AS " + alias + " USE KEYS IFMISSINGORNULL(ARRAY x FOR x IN " + name + ".ks WHEN IS_STRING(x) END, [])",
			func(around map[string]any) (docs []any) {
				list, _ := below(around[name], "ks", -1).([]any)
				for _, key := range list {
					for i := range m.docs {
						if key == joinID(i) {
							docs = append(docs, m.decoded[i])
						}
					}
				}
				return docs
			}
	}
	return "p AS " + alias, func(map[string]any) []any { return m.decoded }
}

// selection draws one SELECT.
func (m *queryModel) selection(around []string, depth int) (string, rowsOf) {
	m.aliases++
	alias := fmt.Sprintf("t%d", m.aliases)
	from, source := m.from(around, alias, depth)
	names := append(slices.Clone(around), alias)
	text := " FROM " + from
	where := clause{of: func(map[string]any) any { return true }}
	if m.pick("where", 4) > 0 {
		where = m.condition(names, depth)
		text += " WHERE " + where.text
	}
	if m.pick("aggregate", 6) == 0 {
		return "SELECT RAW COUNT(*)" + text, func(around map[string]any) []any {
			n := 0.0
			for _, v := range source(around) {
				if truth(where.of(with(around, alias, v))) {
					n++
				}
			}
			return []any{n}
		}
	}
	row, by := m.value(names, depth), m.scalar(names)
	distinct, sorted, limit := m.pick("distinct", 4) == 0, m.pick("order", 3) == 0, m.pick("limit", 6)
	if distinct {
		text, by = "DISTINCT RAW "+row.text+text, row
	} else {
		text = "RAW " + row.text + text
	}
	if sorted {
		text += " ORDER BY " + by.text
	}
	if limit < 3 {
		text += fmt.Sprintf(" LIMIT %d", limit)
	}
	return "SELECT " + text, func(around map[string]any) (rows []any) {
		type keyed struct{ row, key any }
		var all []keyed
		for _, v := range source(around) {
			within := with(around, alias, v)
			if !truth(where.of(within)) {
				continue
			}
			k := keyed{row.of(within), by.of(within)}
			if rankOf(k.row) == 0 {
				k.row = nil
			}
			again := func(o keyed) bool { return order(o.row, k.row) == 0 }
			if !distinct || !slices.ContainsFunc(all, again) {
				all = append(all, k)
			}
		}
		if sorted {
			slices.SortStableFunc(all, func(a, b keyed) int { return order(a.key, b.key) })
		}
		if limit < 3 {
			all = all[:min(limit, len(all))]
		}
		for _, k := range all {
			rows = append(rows, k.row)
		}
		return rows
	}
}

// plain makes of nil lists what JSON has.
func plain(v any) any {
	switch v := v.(type) {
	case missing:
		return nil
	case []any:
		list := []any{}
		for _, element := range v {
			list = append(list, plain(element))
		}
		return list
	}
	return v
}

// TestSubqueriesAgainstModel: subqueries as values, conditions and sources, with names of what is
// around them, and UNION and its like, have the rows of nested loops.
func TestSubqueriesAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &queryModel{T: rt, docs: drawJoinDocs(rt)}
		m.docs = m.docs[:min(len(m.docs), 6)]
		f := newFake(t, nil)
		f.ignoreSelector = rapid.Bool().Draw(rt, "no selectors")
		for i := range m.docs {
			body, err := json.Marshal(&m.docs[i])
			if err != nil {
				rt.Fatal(err)
			}
			f.put(joinID(i), string(body))
			m.decoded = append(m.decoded, decoded(rt, string(body)))
		}
		text, of := m.query(nil, 3)
		have, err := rows(t, f, text, "")
		if err != nil {
			rt.Fatalf("%s: %v", text, err)
		}
		got := []any{}
		for _, row := range have {
			got = append(got, decoded(rt, row))
		}
		if want := plain(of(nil)); !reflect.DeepEqual(any(got), want) {
			rt.Fatalf("%s\nhas %v\nwanted %v\nof %v", text, got, want, m.decoded)
		}
	})
}

// TestSubqueryReads: a subquery that reads nothing around it runs once, wherever it stands; one with
// the ids of what is around reads by ids, EXISTS reads until the first row, and so does LIMIT.
func TestSubqueryReads(t *testing.T) {
	f := newFake(t, nil)
	for i := range 50 {
		f.put(joinID(i), fmt.Sprintf(`{"n":%d,"k":%q,"ks":[%d,"x"]}`, i, joinID(49-i), i))
	}
	for _, c := range []struct {
		statement               string
		rows, gets, finds, read int
	}{
		{"SELECT n, (SELECT RAW MAX(b.n) FROM p b) AS m FROM p WHERE n IN (SELECT RAW c.n FROM p c WHERE c.n < 5)", 5, 0, 3, 60},
		{"SELECT RAW (SELECT RAW b.n FROM p b USE KEYS a.k)[0] FROM p a", 50, 50, 1, 50},
		{"SELECT RAW (SELECT RAW b.n FROM p b WHERE META(b).id = a.k)[0] FROM p a", 50, 50, 1, 50},
		{"SELECT n FROM p USE KEYS (SELECT RAW b.k FROM p b WHERE b.n < 3)", 3, 1, 1, 3},
		{"SELECT n FROM p WHERE META().id IN (SELECT RAW b.k FROM p b WHERE b.n < 3)", 3, 1, 1, 3},
		{"SELECT n FROM p a WHERE EXISTS (SELECT 1 FROM p b WHERE b.n = a.n)", 50, 0, 51, 100},
		{"SELECT n FROM p WHERE EXISTS (SELECT 1 FROM p b)", 50, 0, 2, 51},
		{"SELECT t.n FROM (SELECT n FROM p) AS t LIMIT 3", 3, 0, 1, 3},
		{"SELECT RAW t FROM p a UNNEST (SELECT RAW x FROM a.ks AS x WHERE x != 'x') AS t", 50, 0, 1, 50},
		{"SELECT (SELECT RAW (SELECT RAW COUNT(*) FROM p c) FROM p b WHERE b.n = a.n)[0] AS x FROM p a", 50, 0, 52, 150},
		{"SELECT RAW (SELECT RAW u.n FROM (SELECT n FROM p) AS u WHERE u.n = a.n)[0] FROM p a", 50, 0, 2, 100},
		{"(SELECT n FROM p) UNION ALL (SELECT n FROM p) LIMIT 7", 7, 0, 1, 7},
	} {
		f.gets, f.finds, f.read = nil, nil, 0
		have, err := rows(t, f, c.statement, "")
		if err != nil || len(have) != c.rows || len(f.gets) != c.gets || len(f.finds) != c.finds || f.read != c.read {
			t.Errorf("%s: %d rows, %d Gets, %d Finds, %d read, %v", c.statement, len(have), len(f.gets), len(f.finds),
				f.read, err)
		}
	}
}

// TestSubqueryMemory: rows of subqueries are asked for before they are kept, and given back when those
// of the next row come.
func TestSubqueryMemory(t *testing.T) {
	f := newFake(t, nil)
	text := strings.Repeat("x", 10<<10)
	for i := range 100 {
		f.put(joinID(i), fmt.Sprintf(`{"n":%d,"text":%q}`, i, text))
	}
	f.most = 6 << 20
	have, err := rows(t, f, "SELECT RAW ARRAY_LENGTH((SELECT b.text FROM p b WHERE b.n != a.n ORDER BY b.n)) FROM p a", "")
	if err != nil || len(have) != 100 || have[0] != "99" {
		t.Errorf("%d rows, %v, holds %d", len(have), err, f.held)
	}
	for _, statement := range []string{
		"SELECT RAW (SELECT b.text, c.n, c.text AS t FROM p b JOIN p c ON c.n != b.n LIMIT 400) FROM p a LIMIT 1",
		"SELECT RAW 1 FROM p WHERE (SELECT RAW b.text || b.text FROM p b UNION ALL SELECT RAW c.text || c.text || c.text || " +
			"c.text || c.text FROM p c) = 1",
		"SELECT ARRAY (SELECT b.text FROM p b WHERE b.n >= x) FOR x IN [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] END AS l FROM p a",
	} {
		if f.held = 0; true {
			_, err = rows(t, f, statement, "")
		}
		if !isKind(err, KindLimit) {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

// TestSetOperatorsAgainstModel: UNION, INTERSECT and EXCEPT of rows that come several times have the
// rows that lists have.
func TestSetOperatorsAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom([]any{1.0, 2.0, "x", nil}), 0, 8)
		first, second := list.Draw(rt, "first"), list.Draw(rt, "second")
		op := rapid.SampledFrom([]string{"UNION", "INTERSECT", "EXCEPT"}).Draw(rt, "op")
		all := rapid.Bool().Draw(rt, "all")
		params, err := json.Marshal(map[string]any{"a": first, "b": second})
		if err != nil {
			rt.Fatal(err)
		}
		text := "SELECT RAW x FROM [$a][0] AS x " + op
		if all {
			text += " ALL"
		}
		have, err := rows(t, newFake(t, nil), text+" SELECT RAW y FROM [$b][0] AS y", string(params))
		if err != nil {
			rt.Fatal(err)
		}
		got := []any{}
		for _, row := range have {
			got = append(got, decoded(rt, row))
		}
		if want := plain(setModel(op, all, first, second)); !reflect.DeepEqual(any(got), want) {
			rt.Fatalf("%s of %s\nhas %v\nwanted %v", text, params, got, want)
		}
	})
}
