package n1ql

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"pgregory.net/rapid"
)

// TestSelectors has each row of the specification's table, and what it calls gaps. Without a wanted selector all
// documents are asked.
func TestSelectors(t *testing.T) {
	for _, c := range []struct{ where, want string }{
		{`a = 1`, `{"a":{"$eq":1}}`}, {`a == "x"`, `{"a":{"$eq":"x"}}`}, {`1 = d.a`, `{"a":{"$eq":1}}`},
		{`a.b[0].c = TRUE`, `{"a.b.0.c":{"$eq":true}}`}, {"d.`a.b` = 1", `{"a\\.b":{"$eq":1}}`},
		{`a != 1`, `{"a":{"$gt":null,"$ne":1}}`}, {`a <> "x"`, `{"a":{"$gt":null}}`},
		{`a < 1`, `{"a":{"$gt":null,"$lt":1}}`}, {`a <= 1`, `{"a":{"$gt":null,"$lte":1}}`},
		{`a > 1`, `{"a":{"$gt":1}}`}, {`a >= 1`, `{"a":{"$gte":1}}`}, {`1 < a`, `{"a":{"$gt":1}}`},
		// Strings are ordered in another way in Mango: all of them, and the kinds before or after.
		{`a < "x"`, `{"a":{"$gt":null,"$lt":[]}}`}, {`a > "x"`, `{"a":{"$gte":""}}`},
		{`a > [1]`, `{"a":{"$gte":[]}}`}, {`a < {"b": 1}`, `{"a":{"$gt":null}}`},
		{`a = {"b": 1}`, `{"a":{"$type":"object"}}`}, {`a = [1, "x"]`, `{"a":{"$eq":[1,"x"]}}`},
		{`a = [{"b": 1}]`, `{"a":{"$type":"array"}}`},
		{`a BETWEEN 1 AND 5`, `{"$and":[{"a":{"$gte":1}},{"a":{"$gt":null,"$lte":5}}]}`},
		{`a IN [1, "x", NULL]`, `{"a":{"$in":[1,"x"]}}`}, {`a IN [[1]]`, ``}, {`a IN [{"b": 1}]`, ``},
		{`"x" IN a`, `{"a":{"$elemMatch":{"$eq":"x"}}}`}, {`b IN a`, `{"a":{"$type":"array"}}`},
		{`a NOT IN [1]`, `{"a":{"$gt":null}}`},
		{`a LIKE "x"`, `{"a":{"$eq":"x"}}`},
		{`a LIKE "xy%"`, `{"a":{"$gte":"xy","$lte":"xy` + "\uffff" + `","$regex":"(?s)^xy.*\\z"}}`},
		{`a LIKE "%.y_"`, `{"a":{"$regex":"(?s)^.*\\.y.{1,4}\\z"}}`}, {`a NOT LIKE "x%"`, `{"a":{"$type":"string"}}`},
		{`a IS NULL`, `{"a":{"$eq":null}}`}, {`a IS NOT NULL`, `{"a":{"$gt":null}}`},
		{`a IS MISSING`, `{"a":{"$exists":false}}`}, {`a.b IS MISSING`, ``}, {`a.b IS NOT MISSING`, `{"a.b":{"$exists":true}}`},
		{`a IS VALUED`, `{"a":{"$gt":null}}`},
		{`a IS NOT VALUED`, `{"$or":[{"a":{"$exists":false}},{"a":{"$eq":null}}]}`},
		{`a`, `{"a":{"$gt":false}}`}, {`NOT a`, `{"a":{"$gt":null}}`},
		{`a = 1 AND b = 2`, `{"$and":[{"a":{"$eq":1}},{"b":{"$eq":2}}]}`},
		{`a = 1 AND LOWER(b) = "x"`, `{"a":{"$eq":1}}`}, {`a = 1 OR LOWER(b) = "x"`, ``},
		{`a = 1 OR b = 2`, `{"$or":[{"a":{"$eq":1}},{"b":{"$eq":2}}]}`},
		{`NOT (a = 1 OR b < 2)`, `{"$and":[{"a":{"$gt":null,"$ne":1}},{"b":{"$gte":2}}]}`},
		{`NOT (a = 1 AND b = 2)`, `{"$or":[{"a":{"$gt":null,"$ne":1}},{"b":{"$gt":null,"$ne":2}}]}`},
		{`NOT NOT a = 1`, `{"a":{"$eq":1}}`}, {`NOT (a IS MISSING)`, `{"a":{"$exists":true}}`},
		{`ANY x IN a SATISFIES x = 1 END`, `{"a":{"$elemMatch":{"$eq":1}}}`},
		{`ANY x IN a SATISFIES x.b > 1 AND x.c = b END`, `{"a":{"$elemMatch":{"b":{"$gt":1}}}}`},
		{`ANY x IN a SATISFIES LOWER(x) = "y" END`, `{"a":{"$type":"array"}}`},
		{`ANY x IN a SATISFIES x.b IS MISSING END`, `{"a":{"$type":"array"}}`},
		{`ANY x IN a SATISFIES ANY y IN x.b SATISFIES y = 1 END END`,
			`{"a":{"$elemMatch":{"b":{"$elemMatch":{"$eq":1}}}}}`},
		{`EVERY x IN a SATISFIES x = 1 END`, `{"a":{"$type":"array"}}`},
		{`META().id > "x"`, `{"_id":{"$gt":"x"}}`}, {`META(d).id BETWEEN "a" AND "b"`,
			`{"$and":[{"_id":{"$gte":"a"}},{"_id":{"$lte":"b"}}]}`},
		{`META().id LIKE "user:%"`, `{"_id":{"$gte":"user:","$lte":"user:` + "\U0010ffff" + `","$regex":"(?s)^user:.*\\z"}}`},
		{`META().id LIKE "user%"`, `{"_id":{"$gte":"user","$lte":"user` + "\U0010ffff" + `","$regex":"(?s)^user.*\\z"}}`},
		{`META().cas = "1-x"`, `{"_rev":{"$eq":"1-x"}}`}, {`META().cas > "1-x"`, ``},
		// What Mango cannot name, what depends on two fields, what is no field.
		{`_id = "x"`, ``}, {`$x = 1`, ``}, {"`$a` = 1", ``}, {"`a\\\\b` = 1", ``}, {`a = b`, ``}, {`d = 1`, ``},
		{`a[-1] = 1`, ``}, {`LOWER(a) = "x"`, ``}, {`a = NULL`, ``}, {`a + 1 = 2`, ``}, {`TRUE`, ``},
		{`a = UUID()`, ``}, {`a > LENGTH("xy") + 1`, `{"a":{"$gt":3}}`}, {`a = $x`, `{"a":{"$eq":5}}`},
	} {
		s, err := Parse("SELECT 1 FROM d WHERE " + c.where)
		if err != nil {
			t.Errorf("%s: %v", c.where, err)
			continue
		}
		q, err := s.Bind([]byte(`{"x":5}`))
		if err != nil {
			t.Errorf("%s: %v", c.where, err)
			continue
		}
		have := string(q.Selector())
		if have != c.want {
			t.Errorf("%s\nhas %s\nwanted %s", c.where, have, c.want)
		}
		if have == "" {
			continue
		}
		v, err := ejson.Parse([]byte(have))
		if err == nil {
			_, err = mango.ParseSelector(v)
		}
		if err != nil {
			t.Errorf("%s: %s: %v", c.where, have, err)
		}
	}
}

// TestPrefixBounds: strings with a prefix of ASCII lie between it and what LIKE takes for its end in Mango's order.
func TestPrefixBounds(t *testing.T) {
	tails := []string{
		"", "a", "Z", "-", "\u0000", "\u0001x", "\u0301", "\u00ad", "é", "ﬀ", "\u4e00", "\u200d", "\ufffe", "\uffff",
	}
	for first := ' '; first <= '~'; first++ {
		for second := ' '; second <= '~'; second++ {
			prefix := string(first) + string(second)
			for _, tail := range tails {
				whole := []byte(prefix + tail)
				below := collate.CompareStrings([]byte(prefix), whole) <= 0
				if !below || collate.CompareStrings(whole, []byte(prefix+"\uffff")) > 0 {
					t.Fatalf("%q", whole)
				}
			}
		}
	}
}

// Values that documents and conditions are made of: of every kind, with those that Mango orders in another way.
var (
	scalars = []string{
		"null", "true", "false", "0", "1", "1.0", "-2", "2.5", "9007199254740993", `""`, `"a"`, `"A"`, `"b"`, `"aé"`,
		`"ae\u0301"`, `"a\u0000"`, `"ab"`, `"a.b"`, `"B\n"`, `"ﬀ"`, `"\ud83d\ude00"`,
	}
	fieldNames = []string{"a", "b", "c.d"}
)

func drawValue(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 || kind < 3 {
		return rapid.SampledFrom(scalars).Draw(t, "scalar")
	}
	n := rapid.IntRange(0, 2).Draw(t, "length")
	var parts []string
	for i := range n {
		part := drawValue(t, depth-1)
		if kind < 5 {
			parts = append(parts, part)
		} else {
			parts = append(parts, fmt.Sprintf("%q:%s", []string{"a", "b", "0"}[i], part))
		}
	}
	if kind < 5 {
		return "[" + strings.Join(parts, ",") + "]"
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func drawDocument(t *rapid.T) string {
	var parts []string
	for _, name := range fieldNames {
		if rapid.IntRange(0, 3).Draw(t, "there") > 0 {
			parts = append(parts, fmt.Sprintf("%q:%s", name, drawValue(t, 3)))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func drawPath(t *rapid.T, variable string) string {
	paths := []string{"a", "b", "d.a", "`c.d`", "a.b", "a[0]", "b[1].a", "b.a.b", "a.`0`"}
	path := rapid.SampledFrom(paths).Draw(t, "path")
	if variable == "" {
		if rapid.IntRange(0, 9).Draw(t, "meta") == 0 {
			return "META().id"
		}
		return path
	}
	return variable + rapid.SampledFrom([]string{"", ".a", "[0]", ".a.b"}).Draw(t, "below")
}

func drawCondition(t *rapid.T, depth int, variable string) string {
	kind := rapid.IntRange(0, 11).Draw(t, "condition")
	if depth == 0 && kind > 7 {
		kind -= 6
	}
	path := drawPath(t, variable)
	constant := func() string { return drawValue(t, 1) }
	negated := rapid.SampledFrom([]string{"", "NOT "}).Draw(t, "not")
	switch kind {
	case 0, 1, 2:
		op := rapid.SampledFrom([]string{"=", "!=", "<", "<=", ">", ">="}).Draw(t, "op")
		if negated != "" {
			return constant() + op + path
		}
		return path + op + constant()
	case 3:
		return path + " " + negated + "BETWEEN " + constant() + " AND " + constant()
	case 4:
		return path + " " + negated + "IN [" + constant() + "," + constant() + "]"
	case 5:
		patterns := []string{"a%", "%b", "a", "_", "a_%", "%", "", "a.b%", "A%", "%\ufb00%", "a\u0301%", "0"}
		return path + " " + negated + `LIKE "` + rapid.SampledFrom(patterns).Draw(t, "pattern") + `"`
	case 6:
		return path + " IS " + negated + rapid.SampledFrom([]string{"NULL", "MISSING", "VALUED"}).Draw(t, "what")
	case 7:
		return rapid.SampledFrom([]string{path, constant() + " " + negated + "IN " + path}).Draw(t, "bare")
	case 8, 9:
		op := rapid.SampledFrom([]string{" AND ", " OR "}).Draw(t, "op")
		return negated + "(" + drawCondition(t, depth-1, variable) + op + drawCondition(t, depth-1, variable) + ")"
	case 10:
		return "NOT (" + drawCondition(t, depth-1, variable) + ")"
	}
	name := map[string]string{"": "v", "v": "w", "w": "v"}[variable]
	quantifier := rapid.SampledFrom([]string{"ANY ", "EVERY ", "ANY AND EVERY "}).Draw(t, "quantifier")
	return quantifier + name + " IN " + path + " SATISFIES " + drawCondition(t, depth-1, name) + " END"
}

// TestSelectorLosesNothing compares the rows that are found with the selector with those of a scan.
func TestSelectorLosesNothing(t *testing.T) {
	narrowed := 0
	rapid.Check(t, func(rt *rapid.T) {
		f := newFake(t, nil)
		for i := range 20 {
			f.put([]string{"a", "b", "x"}[i%3]+fmt.Sprint(i), drawDocument(rt))
		}
		text := "SELECT RAW META().id FROM d WHERE " + drawCondition(rt, 3, "")
		with, err := rows(t, f, text, "")
		if err != nil {
			rt.Fatalf("%s: %v", text, err)
		}
		read := f.read
		f.ignoreSelector, f.read = true, 0
		without, err := rows(t, f, text, "")
		if err != nil {
			rt.Fatalf("%s: %v", text, err)
		}
		if !slices.Equal(with, without) {
			var docs []string
			for id, d := range f.docs {
				docs = append(docs, id+" "+string(d.Body))
			}
			slices.Sort(docs)
			rt.Fatalf("%s\nfinds %s with the selector %s\nand %s without\n%s", text, with, f.finds[0].Selector, without,
				strings.Join(docs, "\n"))
		}
		if read < f.read {
			narrowed++
		}
	})
	if narrowed == 0 {
		t.Error("no selector found fewer documents")
	}
}
