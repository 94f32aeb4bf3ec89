package n1ql

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// modelWindow is a window twice: as text, and as what it means for the rows of the model.
type modelWindow struct {
	text               string
	partition          []string
	order              []modelTerm
	unit, exclude      string // "" without a frame
	from, to           modelEdge
	ignore, fromLast   bool
	filtered, distinct bool
}

type modelTerm struct {
	field      string
	descending bool
	nulls      string
}

// modelEdge is an end of a frame: side is -1 for PRECEDING, 0 for the current row, 1 for FOLLOWING; a
// negative number is UNBOUNDED.
type modelEdge struct {
	side int
	by   float64
}

func (e modelEdge) text() string {
	if e.side == 0 {
		return "CURRENT ROW"
	}
	by := fmt.Sprint(e.by)
	if e.by < 0 {
		by = "UNBOUNDED"
	}
	return by + map[int]string{-1: " PRECEDING", 1: " FOLLOWING"}[e.side]
}

// compare orders two rows by one term.
func (t *modelTerm) compare(a, b any) int {
	n := order(a, b)
	if t.descending {
		n = -n
	}
	if t.nulls != "" && unknown(a) != unknown(b) {
		n = 1
		if unknown(a) == (t.nulls == "FIRST") {
			n = -1
		}
	}
	return n
}

// compare orders two rows by all terms.
func (w *modelWindow) compare(a, b map[string]any) int {
	for _, t := range w.order {
		if n := t.compare(below(a, t.field, -1), below(b, t.field, -1)); n != 0 {
			return n
		}
	}
	return 0
}

func drawWindow(rt *rapid.T, ordered, framed bool) *modelWindow {
	w := &modelWindow{}
	var parts []string
	for _, field := range []string{"p", "q"} {
		if rapid.Bool().Draw(rt, "part") {
			w.partition = append(w.partition, field)
		}
	}
	if w.partition != nil {
		parts = append(parts, "PARTITION BY "+strings.Join(w.partition, ", "))
	}
	if n := rapid.IntRange(0, 2).Draw(rt, "terms"); n > 0 || ordered {
		var terms []string
		for _, field := range []string{"o", "q"}[:max(n, 1)] {
			nulls := rapid.SampledFrom([]string{"", "FIRST", "LAST"}).Draw(rt, "nulls")
			t := modelTerm{field, rapid.Bool().Draw(rt, "desc"), nulls}
			text := field
			if t.descending {
				text += " DESC"
			}
			if t.nulls != "" {
				text += " NULLS " + t.nulls
			}
			w.order, terms = append(w.order, t), append(terms, text)
		}
		parts = append(parts, "ORDER BY "+strings.Join(terms, ", "))
	}
	if framed && w.order != nil && rapid.IntRange(0, 3).Draw(rt, "framed") > 0 {
		parts = append(parts, w.drawFrame(rt))
	}
	w.text = "(" + strings.Join(parts, " ") + ")"
	return w
}

// drawFrame draws ends that may be in this order.
func (w *modelWindow) drawFrame(rt *rapid.T) string {
	w.unit = rapid.SampledFrom([]string{"ROWS", "RANGE", "GROUPS"}).Draw(rt, "unit")
	numbers := []float64{-1, 0, 1, 2, 50}
	if w.unit == "RANGE" {
		numbers = []float64{-1, 0, 0.5, 1, 3, 1.7e308}
		if len(w.order) > 1 {
			numbers = []float64{-1}
		}
	}
	edge := func(name string, least, unbounded int) modelEdge {
		e := modelEdge{side: rapid.IntRange(least, 1).Draw(rt, name)}
		if e.side != 0 {
			e.by = rapid.SampledFrom(numbers).Draw(rt, name)
		}
		if e.by < 0 && e.side == -unbounded { // it cannot begin at the end
			e.side = unbounded
		}
		return e
	}
	w.from = edge("from", -1, -1)
	w.to = edge("to", w.from.side, 1)
	text := w.unit + " BETWEEN " + w.from.text() + " AND " + w.to.text()
	if w.from.side <= 0 && w.to.side == 0 && rapid.Bool().Draw(rt, "short") {
		text = w.unit + " " + w.from.text()
	}
	excluded := []string{"", "NO OTHERS", "CURRENT ROW", "GROUP", "TIES"}
	if w.exclude = rapid.SampledFrom(excluded).Draw(rt, "exclude"); w.exclude != "" {
		text += " EXCLUDE " + w.exclude
	}
	return text
}

// inFrame reports whether one row of a sorted partition is in the frame of another one.
func (w *modelWindow) inFrame(rows []map[string]any, of, row int) bool {
	switch same := w.compare(rows[of], rows[row]) == 0; {
	case w.exclude == "CURRENT ROW" && of == row, w.exclude == "GROUP" && same,
		w.exclude == "TIES" && same && of != row:
		return false
	case w.unit == "":
		return w.compare(rows[row], rows[of]) <= 0
	}
	return w.beyond(rows, of, row, w.from) >= 0 && w.beyond(rows, of, row, w.to) <= 0
}

// beyond is the order of a row and of an end of a frame.
func (w *modelWindow) beyond(rows []map[string]any, of, row int, e modelEdge) int {
	if e.side != 0 && e.by < 0 {
		return -e.side
	}
	by := float64(e.side) * e.by
	group := func(i int) float64 {
		n := 0.0
		for j := 1; j <= i; j++ {
			if w.compare(rows[j-1], rows[j]) != 0 {
				n++
			}
		}
		return n
	}
	switch {
	case w.unit == "ROWS":
		return cmp.Compare(float64(row), float64(of)+by)
	case w.unit == "GROUPS":
		return cmp.Compare(group(row), group(of)+by)
	case e.side == 0:
		return w.compare(rows[row], rows[of])
	}
	term := &w.order[0]
	have, end := below(rows[row], term.field, -1), below(rows[of], term.field, -1)
	if n, ok := end.(float64); ok {
		if term.descending {
			by = -by
		}
		end = n + by
	} else if !unknown(end) { // no distance
		if e == w.from {
			return -1
		}
		return 1
	}
	return term.compare(have, end)
}

// value is what a function has at a row of a sorted partition.
func (w *modelWindow) value(name string, rows []map[string]any, of int) any {
	v := func(i int) any { return below(rows[i], "v", -1) }
	count := func(holds func(i int) bool) float64 {
		n := 0.0
		for i := range rows {
			if holds(i) {
				n++
			}
		}
		return n
	}
	before := func(i int) bool { return w.compare(rows[i], rows[of]) < 0 }
	size := float64(len(rows))
	switch name {
	case "ROW_NUMBER()":
		return float64(of + 1)
	case "RANK()":
		return count(before) + 1
	case "DENSE_RANK()":
		return count(func(i int) bool { return before(i) && (i == 0 || w.compare(rows[i-1], rows[i]) != 0) }) + 1
	case "PERCENT_RANK()":
		return count(before) / max(size-1, 1)
	case "CUME_DIST()":
		return count(func(i int) bool { return w.compare(rows[i], rows[of]) <= 0 }) / size
	case "NTILE(3)":
		at := 0
		for bucket := 0; ; bucket++ { // deal them out
			n := len(rows) / 3
			if bucket < len(rows)%3 {
				n++
			}
			if at += n; of < at {
				return float64(bucket + 1)
			}
		}
	case "LAG(v)", "LAG(v, 2, o)", "LEAD(v, 2)":
		step, n := -1, 2
		switch name {
		case "LAG(v)":
			n = 1
		case "LEAD(v, 2)":
			step = 1
		}
		for i := of + step; i >= 0 && i < len(rows); i += step {
			if w.ignore && unknown(v(i)) {
				continue
			}
			if n--; n == 0 {
				return v(i)
			}
		}
		if name == "LAG(v, 2, o)" {
			return below(rows[of], "o", -1)
		}
		return nil
	}
	var frame []int
	for i := range rows {
		if w.inFrame(rows, of, i) {
			frame = append(frame, i)
		}
	}
	if strings.Contains(name, "_VALUE") {
		return w.nth(name, rows, frame, v)
	}
	return w.aggregate(name, rows, frame, v, v(of))
}

func (w *modelWindow) nth(name string, rows []map[string]any, frame []int, v func(int) any) any {
	if w.order != nil && w.unit != "ROWS" {
		slices.SortStableFunc(frame, func(a, b int) int {
			return cmp.Or(w.compare(rows[a], rows[b]), order(v(a), v(b)))
		})
	}
	if w.fromLast || name == "LAST_VALUE(v)" {
		slices.Reverse(frame)
	}
	if w.ignore {
		frame = slices.DeleteFunc(frame, func(i int) bool { return unknown(v(i)) })
	}
	n := 1
	if name == "NTH_VALUE(v, 2)" {
		n = 2
	}
	if len(frame) < n {
		return nil
	}
	return v(frame[n-1])
}

func (w *modelWindow) aggregate(name string, rows []map[string]any, frame []int, v func(int) any, own any) any {
	var listed, known []any
	sum, numbers := 0.0, 0
	for _, i := range frame {
		if name == "COUNT(*)" {
			numbers++
			continue
		}
		if w.filtered && !truth(below(rows[i], "q", -1)) || rankOf(v(i)) == 0 {
			continue
		}
		again := func(o any) bool { return order(o, v(i)) == 0 }
		if w.distinct && slices.ContainsFunc(listed, again) {
			continue
		}
		listed = append(listed, v(i))
		if !unknown(v(i)) {
			known = append(known, v(i))
		}
		if n, ok := v(i).(float64); ok {
			sum, numbers = sum+n, numbers+1
		}
	}
	switch {
	case name == "COUNT(*)":
		return float64(numbers)
	case strings.HasPrefix(name, "COUNT("):
		return float64(len(known))
	case strings.HasPrefix(name, "ARRAY_AGG(") && len(listed) > 0:
		slices.SortStableFunc(listed, order)
		return listed
	case strings.HasPrefix(name, "MIN(") && len(known) > 0:
		return slices.MinFunc(known, order)
	case numbers == 0 || strings.HasPrefix(name, "MIN(") || strings.HasPrefix(name, "ARRAY_AGG("):
		return nil
	case strings.HasPrefix(name, "AVG("):
		return sum / float64(numbers)
	case strings.HasPrefix(name, "RATIO_TO_REPORT("):
		if n, ok := own.(float64); ok && sum != 0 {
			return n / sum
		}
		return nil
	}
	return sum
}

// TestWindowsAgainstModel: functions over windows have the values that brute force has, which asks for each
// row of each other row whether it is in its frame.
func TestWindowsAgainstModel(t *testing.T) {
	aggregates := []string{"COUNT(*)", "COUNT(v)", "SUM(v)", "AVG(v)", "MIN(v)", "ARRAY_AGG(v)"}
	values := []string{"FIRST_VALUE(v)", "LAST_VALUE(v)", "NTH_VALUE(v, 2)"}
	ranks := []string{"RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()", "NTILE(3)"}
	offsets := []string{"LAG(v)", "LAG(v, 2, o)", "LEAD(v, 2)"}
	names := slices.Concat(aggregates, values, ranks, offsets, []string{"ROW_NUMBER()", "RATIO_TO_REPORT(v)"})
	scalars := []string{"1", "2", "-1", "2.5", "0", `"x"`, "null", "", "[1]"} // "" is MISSING
	scales := []string{"1", "2", "3", "3.5", "-1", "5", "1.7e308", "-1.7e308", `"x"`, "null", ""}
	rapid.Check(t, func(rt *rapid.T) {
		w := &modelWorld{rt, newFake(t, nil), nil, map[string]map[string]any{}}
		for i := range rapid.IntRange(0, 14).Draw(rt, "documents") {
			var members []string
			for _, field := range []string{"v", "o", "p", "q"} {
				of := scalars
				if field == "o" {
					of = scales
				}
				if v := rapid.SampledFrom(of).Draw(rt, field); v != "" {
					members = append(members, fmt.Sprintf("%q:%s", field, v))
				}
			}
			id, body := fmt.Sprintf("d%02d", i), "{"+strings.Join(members, ",")+"}"
			w.f.put(id, body)
			w.ids, w.docs[id] = append(w.ids, id), decoded(rt, body).(map[string]any)
		}
		for range 8 {
			name := rapid.SampledFrom(names).Draw(rt, "name")
			framed := slices.Contains(aggregates, name) || slices.Contains(values, name) || name == "RATIO_TO_REPORT(v)"
			over := drawWindow(rt, slices.Contains(ranks, name) || slices.Contains(offsets, name), framed)
			text := over.drawOptions(rt, name)
			w.check(`SELECT RAW {"x": `+text+" OVER "+over.text+"} FROM d", over.all(w, name))
		}
	})
}

// drawOptions draws what else a function may have.
func (w *modelWindow) drawOptions(rt *rapid.T, name string) (text string) {
	text = name
	switch function, _, _ := strings.Cut(name, "("); function {
	case "COUNT", "SUM", "AVG", "MIN", "ARRAY_AGG":
		if name == "COUNT(*)" {
			return text
		}
		if w.distinct = rapid.Bool().Draw(rt, "distinct"); w.distinct {
			text = strings.Replace(text, "(", "(DISTINCT ", 1)
		}
		if w.filtered = rapid.Bool().Draw(rt, "filter"); w.filtered {
			text += " FILTER (WHERE q)"
		}
	case "NTH_VALUE", "FIRST_VALUE", "LAST_VALUE", "LAG", "LEAD":
		if w.fromLast = function == "NTH_VALUE" && rapid.Bool().Draw(rt, "last"); w.fromLast {
			text += " FROM LAST"
		}
		if w.ignore = rapid.Bool().Draw(rt, "nulls"); w.ignore {
			text += " IGNORE NULLS"
		}
	}
	return text
}

// all are the rows of the statement.
func (w *modelWindow) all(world *modelWorld, name string) (want []any) {
	for _, id := range world.ids {
		doc := world.docs[id]
		var rows []map[string]any
		for _, other := range world.ids {
			if !slices.ContainsFunc(w.partition, func(field string) bool {
				return order(below(doc, field, -1), below(world.docs[other], field, -1)) != 0
			}) {
				rows = append(rows, world.docs[other])
			}
		}
		slices.SortStableFunc(rows, w.compare)
		of := slices.IndexFunc(rows, func(d map[string]any) bool {
			return reflect.ValueOf(d).Pointer() == reflect.ValueOf(doc).Pointer()
		})
		want = append(want, shown(w.value(name, rows, of)))
	}
	return want
}

// TestWindowsOfGroups: functions over windows see groups, and their windows may have names.
func TestWindowsOfGroups(t *testing.T) {
	f := newFake(t, map[string]string{
		"a": `{"k":"x","n":1}`, "b": `{"k":"x","n":2}`, "c": `{"k":"y","n":5}`, "d": `{"k":"z","n":0}`,
	})
	for text, want := range map[string]string{
		"SELECT RAW [k, SUM(n), RANK() OVER (ORDER BY SUM(n) DESC)] FROM d GROUP BY k ORDER BY SUM(n)": `["z",0,3] ` +
			`["x",3,2] ["y",5,1]`,
		"SELECT RAW SUM(SUM(n)) OVER w FROM d GROUP BY k HAVING k > 'x' WINDOW w AS ()": `5 5`,
		"SELECT RAW [SUM(n) OVER (w ROWS 1 PRECEDING), COUNT(*) OVER v] FROM d WINDOW v AS (PARTITION BY k), " +
			"w AS (v ORDER BY n)": `[1,2] [3,2] [5,1] [0,1]`,
		"SELECT DISTINCT RAW COUNT(*) OVER (PARTITION BY k) FROM d":                                     `2 1`,
		"SELECT RAW n FROM d ORDER BY LAG(n, 1, -1) OVER (ORDER BY n DESC), n LIMIT 2 OFFSET 1":         `0 1`,
		"SELECT RAW META().id || TOSTRING(ROW_NUMBER() OVER ()) FROM d WHERE n > 0":                     `"a1" "b2" "c3"`,
		"SELECT RAW [x, ROW_NUMBER() OVER (ORDER BY x DESC), META(d).id] FROM d UNNEST [n, 10 + n] x":   ``,
		"SELECT RAW ROW_NUMBER() OVER ()":                                                               `1`,
		"SELECT RAW FIRST_VALUE(y) OVER (ORDER BY y DESC) FROM d LET y = n * 2 WHERE y > 3":             `10 10`,
		"(SELECT RAW 1) UNION ALL (SELECT RAW 2) ORDER BY 1 LIMIT 1":                                    `1`,
		"SELECT RAW (SELECT RAW SUM(z) OVER (ORDER BY z) FROM [1, d.n] AS z) FROM d WHERE n = 5":        `[1,6]`,
		"SELECT RAW SUM(n) FILTER (WHERE k = 'x') FROM d":                                               `3`,
		"SELECT RAW NTH_VALUE(n, $k) FROM LAST RESPECT NULLS OVER (ORDER BY n) FROM d WHERE k = 'x'":    `null 1`,
		"SELECT RAW MAX(n) OVER (ORDER BY n RANGE BETWEEN $k PRECEDING AND CURRENT ROW) FROM d LIMIT 1": `1`,
	} {
		have, err := rows(t, f, text, `{"k": 2}`)
		require.NoError(t, err, text)
		if want == "" {
			require.Len(t, have, 8, text)
			continue
		}
		require.Equal(t, want, strings.Join(have, " "), text)
	}
	for _, text := range []string{
		"SELECT NTH_VALUE(n, n) OVER () FROM d", "SELECT NTILE(n - 5) OVER (ORDER BY n) FROM d",
		"SELECT LAG(n, $p) OVER (ORDER BY n) FROM d", "SELECT SUM(n) OVER (ORDER BY n ROWS $q PRECEDING) FROM d",
	} {
		_, err := rows(t, f, text, `{"p": 1.5, "q": -1}`)
		var e *Error
		require.ErrorAs(t, err, &e, text)
		require.Equal(t, KindInvalid, e.Kind, text)
	}
}

// TestWindowsAreBounded: rows, values and results of windows count against the memory of the statement,
// and what a frame has given back does not.
func TestWindowsAreBounded(t *testing.T) {
	f := newFake(t, nil)
	const documents = 400
	for i := range documents {
		f.put(fmt.Sprintf("d%03d", i), fmt.Sprintf(`{"n":%d,"s":"%s"}`, i, strings.Repeat("x", 1000)))
	}
	held := func(text string) int {
		f.held, f.most = 0, math.MaxInt32
		_, err := rows(t, f, text, "")
		require.NoError(t, err, text)
		return f.held
	}
	plain := held("SELECT ROW_NUMBER() OVER () AS x FROM d")
	require.Greater(t, plain, documents*1000)
	require.Greater(t, held("SELECT ARRAY_AGG(n) OVER (ORDER BY n) AS x FROM d"), plain+documents*documents/2*200)
	sliding := held("SELECT MEDIAN(n) OVER (ORDER BY n ROWS BETWEEN 200 PRECEDING AND 200 FOLLOWING) AS x FROM d")
	require.Less(t, sliding, plain+documents*500)

	f.held, f.most = 0, documents*500
	_, err := rows(t, f, "SELECT ROW_NUMBER() OVER () AS x FROM d", "")
	require.True(t, isKind(err, KindLimit), "%v", err)
	f.most = 0
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Parse("SELECT SUM(n) OVER (ORDER BY n ROWS BETWEEN 300 PRECEDING AND 300 FOLLOWING) AS x FROM d")
	require.NoError(t, err)
	q, err := s.Bind(nil)
	require.NoError(t, err)
	cancel()
	r, err := q.Rows(ctx, f)
	require.NoError(t, err)
	defer r.Close()
	_, _, err = r.Next()
	require.ErrorIs(t, err, context.Canceled)
}
