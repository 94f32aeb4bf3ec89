package mango_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/views"
)

// Values at the edges of what indexes hold: the lengths at which they cut keys are asked of them.

// series are values of growing length, each with something after what repeats.
type series struct {
	of   func(n int, last string) string
	edge int // the greatest n whose value an index over all fields has whole
	cut  int // that whose key in a JSON index ends where the beginning ends of one that it cannot have
}

func newSeries(of func(n int, last string) string, longest int) series {
	s := series{of: of, cut: longest}
	key := func(n int) (key []byte, cut bool) {
		v, err := ejson.Parse([]byte(of(n, "")))
		if err != nil {
			panic(err)
		}
		_, cut = allfields.AppendValue(nil, v)
		return collate.AppendKey(nil, v), cut
	}
	for n := 1; n < longest; n++ {
		k, cut := key(n)
		if !cut {
			s.edge = n
		}
		if len(k) >= views.OversizedPrefix {
			s.cut = n
			break
		}
	}
	return s
}

// strings that repeat a character, arrays that repeat an element, arrays in arrays, objects of many
// members.
var allSeries = func() (list []series) {
	for _, unit := range []string{"a", "A", "é", "日", "0", " ", `\u0001`, `\ud83d\ude00`, `\uffff`, "aB"} {
		list = append(list, newSeries(func(n int, last string) string {
			return `"` + strings.Repeat(unit, n) + strings.NewReplacer(`"`, "", "{", "", "}", "").Replace(last) + `"`
		}, 1200))
	}
	for _, unit := range []string{`null`, `false`, `true`, `0`, `-1`, `1`, `""`, `[]`, `{}`, `"a"`, `[[]]`, `{"":0}`} {
		list = append(list, newSeries(func(n int, last string) string {
			if last != "" {
				last = "," + last
			}
			return "[" + strings.Repeat(unit+",", n-1) + unit + last + "]"
		}, 1200))
	}
	list = append(list, newSeries(func(n int, last string) string {
		return strings.Repeat("[", n) + last + strings.Repeat("]", n)
	}, 200), newSeries(func(n int, last string) string {
		return strings.Repeat(`{"a":`, n) + cmpOr(last, "null") + strings.Repeat("}", n)
	}, 60))
	return list
}()

// numbers are at the ends of what the forms of their keys hold, scalars others.
var (
	numbers = []string{
		`0`, `-0.0`, `1`, `1.0`, `-1`, `63`, `64`, `127`, `128`, `-127`, `-128`, `0.5`, `1e-10`,
		`2.3283064365386963e-10`, `1.1641532182693481e-10`, `1.5e-323`, `4.9e-324`, `3e-322`, `-1.5e-323`,
		`2.2250738585072014e-308`, `9007199254740992`, `9007199254740993`, `9007199254740992.0`,
		`9223372036854775807`, `-9223372036854775808`, `18446744073709551616`, `8.034690221294951e59`,
		`1.6069380442589903e60`, `1606938044258990275541962092341162602522202993782792835301376`, `1.0e308`, `-1.0e308`,
		"1" + strings.Repeat("0", 306), "-1" + strings.Repeat("0", 306) + "1", "1" + strings.Repeat("0", 306) + "1",
	}
	edgeScalars = []string{
		`null`, `false`, `true`, `""`, `"a"`, `"A"`, `"b"`, `"B"`, `"ab"`, `"á"`, `"a\u0301"`, `"a\uffffz"`,
		`"\u0001"`, `"\u0000a"`,
		`"\ud83d\ude00"`, `"-"`, `"_"`, `"ll"`, `"l·l"`, `[]`, `{}`, `[[]]`, `[{}]`, `{"a":{}}`, `{"":null}`,
	}
	lasts = []string{
		"", "", `"a"`, `"b"`, `"\u0001"`, `"\uffff"`, `null`, `false`, `-1`, `0`, `1`, `[]`, `{}`, `{"a":1}`,
	}
)

// chance is one of some texts.
func chance(r *rand.Rand, texts ...string) string { return texts[r.IntN(len(texts))] }

// edgeValue is a value as documents have it and as selectors ask for it.
func edgeValue(r *rand.Rand, depth int) string {
	switch n := r.IntN(10); {
	case n < 2:
		return chance(r, numbers...)
	case n < 4:
		s := allSeries[r.IntN(len(allSeries))]
		count := s.edge - 2 + r.IntN(5)
		if r.IntN(6) == 0 { // what a JSON index cuts
			count = s.cut - 2 + r.IntN(5)
			if r.IntN(2) == 0 {
				count += 600
			}
		}
		return s.of(min(max(count, 1), 1900), chance(r, lasts...))
	case n == 4 && depth < 3:
		var parts []string
		for range r.IntN(4) {
			parts = append(parts, edgeValue(r, depth+1))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case n == 5 && depth < 3:
		return `{"` + chance(r, "a", "k", "") + `":` + edgeValue(r, depth+1) + `}`
	}
	return chance(r, edgeScalars...)
}

// oracleFields are the fields of documents, as selectors name them; longName is the longest name
// that an index over all fields takes.
var (
	longName = func() string {
		d := allfields.Definition{Depth: 1}
		n := 1
		for d.Covers([]string{strings.Repeat("n", n+1)}) {
			n++
		}
		return strings.Repeat("n", n)
	}()
	oracleFields = []string{
		"a", "b", "c.d", "t", "a", "b", "c.d", "t", "e.f.g", "v.w.x.y.z", "v.w.x.y.z.deeper", `dot\\.ted`, "t.0",
		"l.0.k", "c", "l",
		longName, longName + "n", "missing",
	}
)

// edgeDocument is the body of a document; pool are the values that those of its set share.
func edgeDocument(r *rand.Rand, pool []string) string {
	v := func() string { return chance(r, pool...) }
	list := func(of func() string) string {
		var parts []string
		for range r.IntN(4) {
			parts = append(parts, of())
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	members := []string{}
	add := func(of int, name string, value func() string) {
		if r.IntN(of) == 0 {
			members = append(members, `"`+name+`":`+value())
		}
	}
	add(1+r.IntN(2), "a", v)
	add(1+r.IntN(2), "b", v)
	add(2, "c", func() string {
		switch r.IntN(6) {
		case 0:
			return v()
		case 1:
			return `[{"d":` + v() + `}]`
		}
		return `{"z":1,"d":` + v() + `}`
	})
	add(2, "t", func() string { return list(v) })
	add(3, "l", func() string {
		return list(func() string { return `{"k":` + v() + `,"_id":` + chance(r, `"a"`, `"B"`, `"b"`) + `}` })
	})
	add(4, "e", func() string { return `{"f":{"g":` + v() + `}}` })
	add(6, "v", func() string { return `{"w":{"x":{"y":{"z":` + chance(r, v(), `{"deeper":`+v()+`}`) + `}}}}` })
	add(6, "dot.ted", v)
	add(8, longName, v)
	add(8, longName+"n", v)
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(members, ",") + "}"
}

// edgeIDs are what ids of documents begin with. Their order by bytes is not that by collation. The
// last one is equal to another by collation; selectors do not have it, since of bounds that are
// equal it would matter which one comes first.
var edgeIDs = []string{"d", "D", "a", "B", "é", "z", "-", "Ab", "aB", "e\u0301"}

// idCondition is a condition on the field _id, with ids as documents have them.
func idCondition(r *rand.Rand) string {
	id := func() string {
		if r.IntN(12) == 0 {
			return chance(r, `null`, `1`, `[]`, `{}`, `""`)
		}
		number := chance(r, "", "1", "4", "9", "19")
		text := chance(r, "", "", "", "p0:", "p1:") + chance(r, edgeIDs[:len(edgeIDs)-1]...) + number
		return string(ejson.AppendString(nil, text))
	}
	order := func() string { return chance(r, "$lt", "$lte", "$gt", "$gte") }
	switch r.IntN(8) {
	case 0, 1:
		return `{"` + chance(r, "$gt", "$gte") + `":` + id() + `,"` + chance(r, "$lt", "$lte") + `":` + id() + `}`
	case 2:
		return `{"` + order() + `":` + id() + `,"` + order() + `":` + id() + `}`
	case 3:
		return `{"` + chance(r, "$in", "$nin") + `":[` + id() + "," + id() + `]}`
	case 4:
		return `{"` + chance(r, "$eq", "$ne") + `":` + id() + `}`
	case 5:
		return `{"$beginsWith":"` + chance(r, "d", "D", "a", "p0:", "e", "é") + `"}`
	case 6:
		return `{"$not":{"` + order() + `":` + id() + `}}`
	}
	return `{"` + order() + `":` + id() + `}`
}

// edgeSelector is a selector on such documents, most often of conditions that an index can serve.
func edgeSelector(r *rand.Rand, pool []string, depth int) string {
	if kind := r.IntN(12); depth < 2 && kind < 5 {
		first, second := edgeSelector(r, pool, depth+1), edgeSelector(r, pool, depth+1)
		switch kind {
		case 0, 1:
			return `{"$and":[` + first + "," + second + "]}"
		case 2, 3:
			return `{"` + chance(r, "$or", "$or", "$nor") + `":[` + first + "," + second + "]}"
		}
		return `{"$not":` + first + "}"
	}
	if r.IntN(12) == 0 {
		return `{"_id":` + idCondition(r) + `}`
	}
	fields := slices.Clone(oracleFields)
	r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	fields = fields[:1+r.IntN(2)]
	slices.Sort(fields)
	var parts []string
	for _, field := range slices.Compact(fields) {
		parts = append(parts, `"`+field+`":`+edgeCondition(r, pool, field))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func edgeCondition(r *rand.Rand, pool []string, field string) string {
	v := func() string {
		if r.IntN(5) == 0 {
			return edgeValue(r, 1)
		}
		return chance(r, pool...)
	}
	switch {
	case field == "l" && r.IntN(3) > 0:
		equal := `{"k":{"$eq":` + v() + `}`
		id := `"_id":{"$` + chance(r, "gt", "lt", "gte", "eq") + `":"` + chance(r, "B", "a") + `"}`
		return fmt.Sprintf(`{"%s":%s}`, chance(r, "$elemMatch", "$elemMatch", "$allMatch"), chance(r,
			`{"k":`+edgeCondition(r, pool, "")+`}`, equal+`,`+id+`}`, `{`+id+`}`, `{"$not":`+equal+`}}`,
			`{"$or":[`+equal+`},{`+id+`}]}`))
	case field == "t" && r.IntN(2) > 0:
		return fmt.Sprintf(`{"%s":%s}`, chance(r, "$elemMatch", "$elemMatch", "$allMatch"), chance(r,
			`{"$eq":`+v()+`}`, `{"$gt":`+v()+`,"$lte":`+v()+`}`, `{"$in":[`+v()+","+v()+`]}`, `{"$beginsWith":"a"}`,
			`{"$ne":`+v()+`}`))
	}
	order := func() string { return chance(r, "$lt", "$lte", "$gt", "$gte") }
	switch r.IntN(18) {
	case 0, 1, 2:
		return chance(r, `{"$eq":`+v()+`}`, `{"$eq":`+v()+`}`, `{}`, `[]`)
	case 3, 4, 5:
		return `{"` + order() + `":` + v() + `}`
	case 6, 7:
		low, high := chance(r, "$gt", "$gte"), chance(r, "$lt", "$lte")
		return `{"` + low + `":` + v() + `,"` + high + `":` + v() + `}`
	case 8:
		return `{"` + chance(r, "$in", "$in", "$nin") + `":[` + v() + "," + v() + `]}`
	case 9:
		return `{"` + chance(r, "$in", "$nin", "$all") + `":[` + chance(r, "", v()) + `]}`
	case 10:
		return `{"$all":[` + v() + "," + v() + `]}`
	case 11:
		return `{"$exists":` + chance(r, "true", "true", "false") + `}`
	case 12:
		long := `"` + strings.Repeat("a", 200+r.IntN(60)) + `"`
		return `{"$beginsWith":` + chance(r, `"a"`, `""`, `"A"`, `"aB"`, `"é"`, `"l"`, `"\u0001"`, long) + `}`
	case 13:
		return `{"$not":{"` + order() + `":` + v() + `}}`
	case 14:
		return `{"$ne":` + v() + `}`
	case 15:
		return `{"$type":"` + chance(r, "null", "boolean", "number", "string", "array", "object") + `"}`
	case 16:
		return `{"$or":[{"` + order() + `":` + v() + `},{"$eq":` + v() + `}]}`
	}
	return chance(r, `{"$size":1}`, `{"$regex":"^a"}`, `{"$regex":"é|b"}`, `{"$mod":[2,1]}`,
		`{"$keyMapMatch":{"$eq":"a"}}`)
}
