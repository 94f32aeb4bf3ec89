package n1ql

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// missing is N1QL's MISSING among the values of encoding/json, with which the model works: nothing
// of this file uses the package's own values, comparisons or evaluator.
type missing struct{}

// clause is a part of a statement twice: as text, and as what it means for a document.
type clause struct {
	text string
	of   func(doc map[string]any) any
}

// rankOf is the place of a value's type in N1QL's order.
func rankOf(v any) int {
	switch v := v.(type) {
	case missing:
		return 0
	case nil:
		return 1
	case bool:
		if v {
			return 3
		}
		return 2
	case float64:
		return 4
	case string:
		return 5
	case []any:
		return 6
	}
	return 7
}

// order compares two values as the N1QL reference orders them.
func order(a, b any) int {
	if n := cmp.Compare(rankOf(a), rankOf(b)); n != 0 {
		return n
	}
	switch a := a.(type) {
	case float64:
		return cmp.Compare(a, b.(float64))
	case string:
		return strings.Compare(a, b.(string))
	case []any:
		return slices.CompareFunc(a, b.([]any), order)
	case map[string]any:
		b := b.(map[string]any)
		names, others := slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))
		n := cmp.Compare(len(names), len(others))
		for i := 0; n == 0 && i < len(names); i++ {
			n = cmp.Or(strings.Compare(names[i], others[i]), order(a[names[i]], b[others[i]]))
		}
		return n
	}
	return 0
}

func unknown(v any) bool { return rankOf(v) < 2 }

// either is MISSING if one of two values is, else NULL if one is.
func either(a, b any) (any, bool) {
	if !unknown(a) && !unknown(b) {
		return nil, false
	}
	if rankOf(a) == 0 || rankOf(b) == 0 {
		return missing{}, true
	}
	return nil, true
}

// truth is how N1QL reads a value as a condition.
func truth(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case float64:
		return v != 0
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}

// below is what a path has below a value.
func below(of any, name string, index int) any {
	switch of := of.(type) {
	case map[string]any:
		if v, ok := of[name]; ok && index < 0 {
			return v
		}
	case []any:
		if index >= 0 && index < len(of) {
			return of[index]
		}
	}
	return missing{}
}

func modelPath(rt *rapid.T) clause {
	c := rapid.SampledFrom([]clause{
		{"a", func(d map[string]any) any { return below(d, "a", -1) }},
		{"d.b", func(d map[string]any) any { return below(d, "b", -1) }},
		{"`c.d`", func(d map[string]any) any { return below(d, "c.d", -1) }},
		{"a.b", func(d map[string]any) any { return below(below(d, "a", -1), "b", -1) }},
		{"b[0]", func(d map[string]any) any { return below(below(d, "b", -1), "", 0) }},
		{"b[1].a", func(d map[string]any) any { return below(below(below(d, "b", -1), "", 1), "a", -1) }},
	})
	return c.Draw(rt, "path")
}

// modelScalars are those whose calculations are exact as doubles.
var modelScalars = slices.DeleteFunc(slices.Clone(scalars), func(s string) bool { return len(s) > 15 && s[0] == '9' })

func modelConstant(rt *rapid.T) clause {
	texts := append([]string{"[]", "{}", `[1,"a"]`, `{"a":1}`, "MISSING"}, modelScalars...)
	text := rapid.SampledFrom(texts).Draw(rt, "constant")
	if text == "MISSING" {
		return clause{text, func(map[string]any) any { return missing{} }}
	}
	v := decoded(rt, text)
	return clause{text, func(map[string]any) any { return v }}
}

func decoded(rt interface{ Fatalf(string, ...any) }, text string) (v any) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		rt.Fatalf("%s: %v", text, err)
	}
	return v
}

// modelExpression draws a value: a path, a constant, a sum, a condition, CASE.
func modelExpression(rt *rapid.T, depth int) clause {
	kind := rapid.IntRange(0, 9).Draw(rt, "expression")
	switch {
	case depth == 0 && kind < 7 || kind < 4:
		return modelPath(rt)
	case depth == 0 || kind < 5:
		return modelConstant(rt)
	case kind < 7:
		return modelArithmetic(rt, depth)
	case kind < 8:
		when, then := modelCondition(rt, depth-1), modelExpression(rt, depth-1)
		text := "CASE WHEN " + when.text + " THEN " + then.text + " END"
		return clause{text, func(d map[string]any) any {
			if truth(when.of(d)) {
				return then.of(d)
			}
			return nil
		}}
	}
	return modelCondition(rt, depth-1)
}

func modelArithmetic(rt *rapid.T, depth int) clause {
	a, b := modelExpression(rt, depth-1), modelExpression(rt, depth-1)
	op := rapid.SampledFrom([]string{"+", "-", "*", "||"}).Draw(rt, "calculation")
	return clause{"(" + a.text + " " + op + " " + b.text + ")", func(d map[string]any) any {
		x, y := a.of(d), b.of(d)
		if v, is := either(x, y); is {
			return v
		}
		if op == "||" {
			s, first := x.(string)
			u, second := y.(string)
			if first && second {
				return s + u
			}
			return nil
		}
		n, first := x.(float64)
		m, second := y.(float64)
		switch {
		case !first || !second:
			return nil
		case op == "+":
			return n + m
		case op == "-":
			return n - m
		}
		return n * m
	}}
}

// modelCondition draws what WHERE may have.
func modelCondition(rt *rapid.T, depth int) clause {
	kind := rapid.IntRange(0, 9).Draw(rt, "condition")
	depth = max(depth, 0)
	a := modelExpression(rt, depth)
	switch {
	case kind < 3 || depth == 0 && kind > 5:
		return modelComparison(rt, a, modelExpression(rt, depth))
	case kind < 4:
		kinds := []string{"MISSING", "NULL", "VALUED", "NOT MISSING", "NOT NULL", "NOT VALUED"}
		what := rapid.SampledFrom(kinds).Draw(rt, "is")
		return clause{"(" + a.text + " IS " + what + ")", func(d map[string]any) any { return modelIs(a.of(d), what) }}
	case kind < 5:
		low, high := modelExpression(rt, 0), modelExpression(rt, 0)
		least, most := modelComparisonOf(">=", a, low), modelComparisonOf("<=", a, high)
		text := "(" + a.text + " BETWEEN " + low.text + " AND " + high.text + ")"
		return clause{text, func(d map[string]any) any { return all(least.of(d), most.of(d)) }}
	case kind < 6:
		pattern := rapid.SampledFrom([]string{"a%", "%b", "_", "a_%", "%", "", "%B%", "aé"}).Draw(rt, "pattern")
		return clause{"(" + a.text + ` LIKE "` + pattern + `")`, func(d map[string]any) any {
			v := a.of(d)
			if s, ok := v.(string); ok {
				return matchesLike(pattern, []rune(s))
			}
			result, _ := either(v, nil)
			return result
		}}
	case kind < 7:
		b := modelCondition(rt, depth-1)
		return clause{"(NOT " + b.text + ")", func(d map[string]any) any {
			v := b.of(d)
			if unknown(v) {
				return v
			}
			return !truth(v)
		}}
	}
	x, y := modelCondition(rt, depth-1), modelCondition(rt, depth-1)
	if kind == 7 {
		text := "(" + x.text + " OR " + y.text + ")"
		return clause{text, func(d map[string]any) any { return anyOne(x.of(d), y.of(d)) }}
	}
	text := "(" + x.text + " AND " + y.text + ")"
	return clause{text, func(d map[string]any) any { return all(x.of(d), y.of(d)) }}
}

func modelComparison(rt *rapid.T, a, b clause) clause {
	return modelComparisonOf(rapid.SampledFrom([]string{"=", "!=", "<", "<=", ">", ">="}).Draw(rt, "op"), a, b)
}

func modelComparisonOf(op string, a, b clause) clause {
	return clause{"(" + a.text + " " + op + " " + b.text + ")", func(d map[string]any) any {
		x, y := a.of(d), b.of(d)
		if v, is := either(x, y); is {
			return v
		}
		n := order(x, y)
		return map[string]bool{"=": n == 0, "!=": n != 0, "<": n < 0, "<=": n <= 0, ">": n > 0, ">=": n >= 0}[op]
	}}
}

func modelIs(v any, what string) any {
	kind, negated := strings.TrimPrefix(what, "NOT "), strings.HasPrefix(what, "NOT ")
	switch kind {
	case "MISSING":
		return (rankOf(v) == 0) != negated
	case "VALUED":
		return unknown(v) == negated
	}
	if rankOf(v) == 0 {
		return v
	}
	return (v == nil) != negated
}

// all is AND: FALSE wins, then MISSING, then NULL.
func all(a, b any) any {
	for _, v := range []any{a, b} {
		if !unknown(v) && !truth(v) {
			return false
		}
	}
	if v, is := either(a, b); is {
		return v
	}
	return true
}

// anyOne is OR: TRUE wins, then NULL, then MISSING.
func anyOne(a, b any) any {
	switch {
	case truth(a) || truth(b):
		return true
	case a == nil || b == nil:
		return nil
	case rankOf(a) == 0 || rankOf(b) == 0:
		return missing{}
	}
	return false
}

// matchesLike matches a pattern of LIKE by trying.
func matchesLike(pattern string, s []rune) bool {
	if pattern == "" {
		return len(s) == 0
	}
	first := []rune(pattern)[0]
	rest := string([]rune(pattern)[1:])
	if first == '%' {
		return matchesLike(rest, s) || len(s) > 0 && matchesLike(pattern, s[1:])
	}
	return len(s) > 0 && (first == '_' || first == s[0]) && matchesLike(rest, s[1:])
}

// shown is the row of {"x": v}, which tells MISSING from NULL.
func shown(v any) any {
	if rankOf(v) == 0 {
		return map[string]any{}
	}
	return map[string]any{"x": v}
}

// modelWorld is a keyspace and what the model sees of it.
type modelWorld struct {
	*rapid.T
	f    *fake
	ids  []string
	docs map[string]map[string]any
}

func drawWorld(t *testing.T, rt *rapid.T) *modelWorld {
	w := &modelWorld{rt, newFake(t, nil), nil, map[string]map[string]any{}}
	for i := range rapid.IntRange(0, 12).Draw(rt, "documents") {
		id, body := fmt.Sprintf("d%02d", i), strings.ReplaceAll(drawDocument(rt), "9007199254740993", "7")
		w.f.put(id, body)
		w.ids, w.docs[id] = append(w.ids, id), decoded(rt, body).(map[string]any)
	}
	return w
}

// where draws a condition, or none, and the ids of the documents that it holds for.
func (w *modelWorld) where() (text string, ids []string) {
	if rapid.IntRange(0, 4).Draw(w.T, "all") == 0 {
		return "", w.ids
	}
	c := modelCondition(w.T, 2)
	for _, id := range w.ids {
		if truth(c.of(w.docs[id])) {
			ids = append(ids, id)
		}
	}
	return " WHERE " + c.text, ids
}

// check runs a statement and compares its rows.
func (w *modelWorld) check(text string, want []any) {
	w.Helper()
	have, err := rows(w.f.t, w.f, text, "")
	if err != nil {
		w.Fatalf("%s: %v", text, err)
	}
	got := []any{}
	for _, row := range have {
		got = append(got, decoded(w, row))
	}
	if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
		w.Fatalf("%s\nhas %v\nwanted %v\n%v", text, got, want, w.docs)
	}
}

// TestSelectAgainstModel: SELECT has the rows that brute force over decoded documents has, in the
// same order.
func TestSelectAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(t, rt)
		row := modelExpression(rt, 2)
		where, ids := w.where()
		distinct := rapid.Bool().Draw(rt, "distinct")
		text := "SELECT RAW "
		if distinct {
			text = "SELECT DISTINCT RAW "
		}
		text += `{"x": ` + row.text + "} FROM d" + where
		type sorted struct{ row, key any }
		var all []sorted
		by := row // what DISTINCT is sorted by, so that it does not matter which of two equal rows is kept
		if !distinct {
			by = modelExpression(rt, 1)
		}
		for _, id := range ids {
			s := sorted{shown(row.of(w.docs[id])), by.of(w.docs[id])}
			again := func(o sorted) bool { return order(o.row, s.row) == 0 }
			if !distinct || !slices.ContainsFunc(all, again) {
				all = append(all, s)
			}
		}
		switch rapid.IntRange(0, 2).Draw(rt, "order") {
		case 1:
			text += " ORDER BY " + by.text
			slices.SortStableFunc(all, func(a, b sorted) int { return order(a.key, b.key) })
		case 2:
			text += " ORDER BY " + by.text + " DESC"
			slices.SortStableFunc(all, func(a, b sorted) int { return order(b.key, a.key) })
		}
		if rapid.Bool().Draw(rt, "page") {
			limit, offset := rapid.IntRange(0, 8).Draw(rt, "limit"), rapid.IntRange(0, 4).Draw(rt, "offset")
			text += fmt.Sprintf(" LIMIT %d OFFSET %d", limit, offset)
			all = all[min(offset, len(all)):min(offset+limit, len(all))]
		}
		var want []any
		for _, s := range all {
			want = append(want, s.row)
		}
		w.check(text, want)
	})
}

// TestAggregatesAgainstModel: aggregates have the values that brute force has.
func TestAggregatesAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(t, rt)
		of := modelExpression(rt, 1)
		where, ids := w.where()
		var known, different, listed []any
		var numbers []float64
		for _, id := range ids {
			v := of.of(w.docs[id])
			if rankOf(v) > 0 {
				listed = append(listed, v)
			}
			if unknown(v) {
				continue
			}
			known = append(known, v)
			if !slices.ContainsFunc(different, func(o any) bool { return order(o, v) == 0 }) {
				different = append(different, v)
			}
			if n, ok := v.(float64); ok {
				numbers = append(numbers, n)
			}
		}
		want := []any{float64(len(ids)), float64(len(known)), float64(len(different)), nil, nil, nil}
		if len(known) > 0 {
			want[3], want[4] = slices.MinFunc(known, order), slices.MaxFunc(known, order)
		}
		if slices.SortStableFunc(listed, order); len(listed) > 0 {
			want[5] = listed
		}
		want = append(append(want, float64(len(numbers))), modelNumbers(numbers)...)
		text := strings.ReplaceAll("SELECT RAW [COUNT(*), COUNT(x), COUNT(DISTINCT x), MIN(x), MAX(x), ARRAY_AGG(x), "+
			"COUNTN(x), SUM(x), AVG(x), MEDIAN(x), VARIANCE(x), VAR_SAMP(x), VAR_POP(x), STDDEV(x), STDDEV_SAMP(x), "+
			"STDDEV_POP(x)] FROM d", "(x)", "("+of.text+")")
		w.check(strings.ReplaceAll(text, "DISTINCT x", "DISTINCT "+of.text)+where, []any{want})
	})
}

// modelNumbers are SUM, AVG, MEDIAN, VARIANCE, VAR_SAMP and VAR_POP of numbers, and the roots of the
// last three.
func modelNumbers(numbers []float64) []any {
	n := float64(len(numbers))
	if n == 0 {
		return make([]any, 9)
	}
	sum, squares := 0.0, 0.0
	for _, f := range numbers {
		sum += f
	}
	for _, f := range numbers {
		squares += (f - sum/n) * (f - sum/n)
	}
	sorted := slices.Sorted(slices.Values(numbers))
	middle := (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	if n == 1 {
		return []any{sum, sum, middle, 0.0, nil, 0.0, 0.0, nil, 0.0}
	}
	some, all := squares/(n-1), squares/n
	return []any{sum, sum / n, middle, some, some, all, math.Sqrt(some), math.Sqrt(some), math.Sqrt(all)}
}

// TestChangesAgainstModel: UPDATE and DELETE change the documents that WHERE holds for, as brute
// force does, and no others.
func TestChangesAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(t, rt)
		set := modelExpression(rt, 2)
		where, ids := w.where()
		text := "DELETE FROM d" + where
		remove := rapid.Bool().Draw(rt, "delete")
		if !remove {
			text = "UPDATE d SET z = " + set.text + " UNSET a" + where
		}
		for _, id := range ids {
			doc := w.docs[id]
			if remove {
				delete(w.docs, id)
				continue
			}
			if v := set.of(doc); rankOf(v) > 0 {
				doc["z"] = v
			}
			delete(doc, "a")
		}
		w.check(text, nil)
		have := map[string]map[string]any{}
		for id, d := range w.f.docs {
			have[id] = decoded(rt, string(d.Body)).(map[string]any)
		}
		if !reflect.DeepEqual(have, w.docs) {
			rt.Fatalf("%s\nleaves %v\nwanted %v", text, have, w.docs)
		}
	})
}
