package mango_test

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
)

// This file is a matcher of its own: it reads selectors as they are written, neither rewrites nor
// plans them, and shares nothing with the package but the order of values.

// brute reports whether a document passes a selector; negated: whether it passes its opposite. A
// missing field fails every condition, negated or not, but for one that it is missing.
func brute(selector, doc ejson.Value, negated bool) bool {
	return bruteMatcher{}.holds(nil, selector, doc, negated)
}

// idBound is a comparison with an id that holds for all documents that pass a selector.
type idBound struct {
	operator string
	arg      ejson.Value
}

// idBounds are those of a selector, or of the conditions on its field _id.
func idBounds(cond ejson.Value, ofID, negated bool) (list []idBound) {
	if negated && cond.Len() > 1 {
		return nil // one of them is not met, whichever
	}
	all := func(arg ejson.Value, negated bool) {
		for kid := range arg.Elements() {
			list = append(list, idBounds(kid, ofID, negated)...)
		}
	}
	for member, arg := range cond.Members() {
		name := member.Text()
		if opposite, ok := map[string]string{
			"$lt": "$gte", "$lte": "$gt", "$gt": "$lte", "$gte": "$lt", "$ne": "$eq", "$eq": "$ne",
			"$and": "$nand", "$nor": "$or", "$or": "$nor", "$beginsWith": "",
		}[name]; negated && ok {
			name = opposite
		}
		switch {
		case name == "$and":
			all(arg, false)
		case name == "$nor":
			all(arg, true)
		case name == "$not":
			list = append(list, idBounds(arg, ofID, !negated)...)
		case name == "_id":
			list = append(list, idBounds(arg, true, negated)...)
		case ofID && name == "$beginsWith":
			last, _ := ejson.Parse(ejson.AppendString(nil, arg.Text()+"\uffff"))
			list = append(list, idBound{"$gte", arg}, idBound{"$lte", last})
		case ofID && slices.Contains([]string{"$lt", "$lte", "$eq", "$gte", "$gt"}, name):
			list = append(list, idBound{name, arg})
		}
	}
	return list
}

// idEnd is one end of a range of ids; without a value it is open.
type idEnd struct {
	at      ejson.Value
	without bool // the value itself is not in the range
}

// narrow moves an end to a value that leaves less: above it with sign 1, below it with -1.
func (e *idEnd) narrow(sign int, at ejson.Value, without bool) {
	order := 1
	if e.at.Kind() != ejson.Invalid {
		order = sign * collate.Compare(at, e.at)
	}
	if order > 0 {
		e.at, e.without = at, without
	} else if order == 0 {
		e.without = e.without || without
	}
}

// idRange is the narrowest range that a selector's bounds make by collation; some is false if
// nothing is in it.
func idRange(selector ejson.Value) (low, high idEnd, some bool) {
	for _, b := range idBounds(selector, false, false) {
		without := b.operator == "$lt" || b.operator == "$gt"
		if !strings.HasPrefix(b.operator, "$l") {
			low.narrow(1, b.arg, without)
		}
		if !strings.HasPrefix(b.operator, "$g") {
			high.narrow(-1, b.arg, without)
		}
	}
	if low.at.Kind() == ejson.Invalid || high.at.Kind() == ejson.Invalid {
		return low, high, true
	}
	order := collate.Compare(low.at, high.at)
	return low, high, order < 0 || order == 0 && !low.without && !high.without
}

// passes is brute for the whole selector of a query. collated is CouchDB 3.6: ids are compared by
// collation, and have to be by their bytes, too, between the ends that a reader of all documents
// makes of the conditions on them.
func passes(selector, doc ejson.Value, collated bool) bool {
	if !(bruteMatcher{collated: collated}).holds(nil, selector, doc, false) {
		return false
	}
	id, _ := doc.Get("_id")
	low, high, _ := idRange(selector)
	above := low.at.Kind() == ejson.Invalid || collate.CompareRaw(id, low.at) >= 0
	below := high.at.Kind() == ejson.Invalid || collate.CompareRaw(id, high.at) <= 0
	return !collated || above && below
}

// bruteMatcher is where conditions stand: inside $elemMatch and its like a negation is true of what
// is missing, and below a field _id values are in raw order, unless that is collated.
type bruteMatcher struct{ inside, raw, collated bool }

// holds is brute for a condition on the field at a path; without a path it is on the document, or
// the element.
func (m bruteMatcher) holds(path []string, cond, doc ejson.Value, negated bool) bool {
	if negated && m.inside {
		return !m.holds(path, cond, doc, false)
	}
	if cond.Kind() != ejson.Object || cond.Len() == 0 && len(path) > 0 {
		return m.operator(path, "$eq", cond, doc, negated)
	}
	every, some := true, false
	for name, arg := range cond.Members() {
		holds := m.member(path, name.Text(), arg, doc, negated)
		every, some = every && holds, some || holds
	}
	if negated {
		return some
	}
	return every
}

func (m bruteMatcher) member(path []string, name string, arg, doc ejson.Value, negated bool) bool {
	kids := func(negated bool) (every, some bool) {
		every = true
		for kid := range arg.Elements() {
			holds := m.holds(path, kid, doc, negated)
			every, some = every && holds, some || holds
		}
		return every, some
	}
	switch name {
	case "$and", "$nor":
		every, some := kids(negated != (name == "$nor"))
		if negated {
			return some
		}
		return every
	case "$or":
		every, some := kids(negated)
		if negated {
			return every
		}
		return some
	case "$not":
		return m.holds(path, arg, doc, !negated)
	}
	if strings.HasPrefix(name, "$") {
		return m.operator(path, name, arg, doc, negated)
	}
	m.raw = m.raw || len(path) == 0 && name == "_id" && !m.collated
	return m.holds(append(slices.Clone(path), splitName(name)...), arg, doc, negated)
}

// operator tests an operator on the value at a path.
func (m bruteMatcher) operator(path []string, name string, arg, doc ejson.Value, negated bool) bool {
	value, there, reached := follow(doc, path)
	if name == "$exists" {
		want, _ := arg.Bool()
		return reached && there == (want != negated)
	}
	return there && m.test(name, arg, value) != negated
}

func (m bruteMatcher) compare(a, b ejson.Value) int {
	if m.raw {
		return collate.CompareRaw(a, b)
	}
	return collate.Compare(a, b)
}

func (m bruteMatcher) test(name string, arg, value ejson.Value) bool {
	order := m.compare(value, arg)
	switch name {
	case "$lt":
		return order < 0
	case "$lte":
		return order <= 0
	case "$eq":
		return order == 0
	case "$ne":
		return order != 0
	case "$gte":
		return order >= 0
	case "$gt":
		return order > 0
	case "$in":
		return m.isIn(arg, value)
	case "$nin":
		return arg.Len() == 0 || !m.isIn(arg, value)
	case "$type":
		return arg.Text() == bruteType(value)
	case "$size":
		n, _ := arg.Int()
		return value.Kind() == ejson.Array && int64(value.Len()) == n
	case "$mod":
		numbers := slices.Collect(arg.Elements())
		return value.Kind() == ejson.Int &&
			new(big.Int).Rem(value.BigInt(), numbers[0].BigInt()).Cmp(numbers[1].BigInt()) == 0
	case "$beginsWith": // an accent after the prefix changes its last character
		rest, begins := strings.CutPrefix(value.Text(), arg.Text())
		return value.Kind() == ejson.String && begins && (arg.Text() == "" || !strings.HasPrefix(rest, "\u0301"))
	case "$regex":
		return value.Kind() == ejson.String && bruteRegex(arg.Text(), value.Text())
	}
	return m.testParts(name, arg, value)
}

// testParts tests operators on the parts of arrays and objects.
func (m bruteMatcher) testParts(name string, arg, value ejson.Value) bool {
	m.inside = true
	passes := func(v ejson.Value) bool { return m.holds(nil, arg, v, false) }
	elements := slices.Collect(value.Elements())
	switch name {
	case "$elemMatch":
		return value.Kind() == ejson.Array && slices.ContainsFunc(elements, passes)
	case "$allMatch":
		fails := func(v ejson.Value) bool { return !passes(v) }
		return value.Kind() == ejson.Array && len(elements) > 0 && !slices.ContainsFunc(elements, fails)
	case "$keyMapMatch":
		for key := range value.Members() {
			if passes(key) {
				return true
			}
		}
		return false
	case "$all":
		wanted := slices.Collect(arg.Elements())
		lacks := func(want ejson.Value) bool {
			text := string(want.AppendJSON(nil))
			return !slices.ContainsFunc(elements, func(v ejson.Value) bool { return string(v.AppendJSON(nil)) == text })
		}
		if value.Kind() != ejson.Array || len(wanted) == 0 {
			return false
		}
		return !slices.ContainsFunc(wanted, lacks) ||
			len(wanted) == 1 && wanted[0].Kind() == ejson.Array && collate.CompareRaw(wanted[0], value) == 0
	}
	panic("no such operator: " + name)
}

func (m bruteMatcher) isIn(list, value ejson.Value) bool {
	of := []ejson.Value{value}
	if value.Kind() == ejson.Array {
		of = slices.Collect(value.Elements())
	}
	return slices.ContainsFunc(slices.Collect(list.Elements()), func(want ejson.Value) bool {
		return slices.ContainsFunc(of, func(v ejson.Value) bool { return m.compare(v, want) == 0 })
	})
}

// bruteRegex knows the patterns that the generators make: letters, alternatives, and a letter at
// the beginning.
func bruteRegex(pattern, text string) bool {
	if begin, ok := strings.CutPrefix(pattern, "^"); ok {
		return strings.HasPrefix(text, begin)
	}
	contains := func(part string) bool { return strings.Contains(text, part) }
	return slices.ContainsFunc(strings.Split(pattern, "|"), contains)
}

func bruteType(v ejson.Value) string {
	return map[ejson.Kind]string{
		ejson.Null: "null", ejson.Bool: "boolean", ejson.Int: "number", ejson.Double: "number",
		ejson.String: "string", ejson.Array: "array", ejson.Object: "object",
	}[v.Kind()]
}

// splitName splits a field's name at its dots, but for those after a backslash.
func splitName(name string) []string {
	parts := strings.Split(strings.ReplaceAll(name, `\.`, "\x00dot"), ".")
	for i := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(parts[i], `\`, ""), "\x00dot", ".")
	}
	return parts
}

// lookup finds the value of a field.
func lookup(doc ejson.Value, name string) (ejson.Value, bool) {
	value, there, _ := follow(doc, splitName(name))
	return value, there
}

// follow follows a path through objects and arrays; reached says that there is what would have its
// last part.
func follow(v ejson.Value, path []string) (value ejson.Value, there, reached bool) {
	for _, part := range path {
		switch v.Kind() {
		case ejson.Object:
			member, ok := v.Get(part)
			if !ok {
				return v, false, true
			}
			v = member
		case ejson.Array:
			n, err := strconv.Atoi(part)
			elements := slices.Collect(v.Elements())
			if err != nil || n < 0 || n >= len(elements) {
				return v, false, false
			}
			v = elements[n]
		default:
			return v, false, false
		}
	}
	return v, true, true
}

// long is longer than a row of an index may be on a store with limits.
var long = strings.Repeat("a", 1600)

var bruteValues = []string{
	`"` + long + `b"`,
	`"` + long + `c"`,
	`["` + long + `"]`,
	`null`,
	`false`,
	`true`,
	`-1`,
	`0`,
	`1`,
	`1.0`,
	`2`,
	`3`,
	`""`,
	`"a"`,
	`"A"`,
	`"ab"`,
	`"b"`,
	`"é"`,
	`"e\u0301"`,
	`[]`,
	`[1]`,
	`["a",1]`,
	`{}`,
	`{"x":1}`,
}

// fieldNames are the fields of documents; those of c come as an object.
var fieldNames = []string{"a", "b", "c.d"}

// anyDocument is the body of a document, which lacks some of the fields.
func anyDocument() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var members []string
		for _, name := range fieldNames {
			if rapid.IntRange(0, 4).Draw(t, "there") == 0 {
				continue
			}
			value := rapid.SampledFrom(bruteValues).Draw(t, name)
			if name == "c.d" {
				members = append(members, `"c":{"z":1,"d":`+value+`}`)
			} else {
				members = append(members, `"`+name+`":`+value)
			}
		}
		members = append(members, `"text":"\"}{[\\"`)
		return "{" + strings.Join(rapid.Permutation(members).Draw(t, "members"), ",") + "}"
	})
}

// anySelector is a selector on the fields, most often with conditions that an index can serve.
func anySelector(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kind := rapid.IntRange(0, 5).Draw(t, "kind")
		if depth == 0 || kind < 2 {
			return "{" + anyField().Draw(t, "field") + "}"
		}
		first, second := anySelector(depth-1).Draw(t, "first"), anySelector(depth-1).Draw(t, "second")
		switch kind {
		case 2, 3:
			return `{"$and":[` + first + "," + second + "]}"
		case 4:
			o := rapid.SampledFrom([]string{"$or", "$nor"}).Draw(t, "op")
			return `{"` + o + `":[` + first + "," + second + "]}"
		}
		return `{"$not":` + first + "}"
	})
}

func anyField() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		field := rapid.SampledFrom(append([]string{"_id"}, fieldNames...)).Draw(t, "name")
		value := rapid.SampledFrom(bruteValues).Draw(t, "value")
		operators := []string{
			"$lt",
			"$lte",
			"$eq",
			"$ne",
			"$gte",
			"$gt",
			"$eq",
			"$gt",
			"$in",
			"$nin",
			"$exists",
			"$beginsWith",
			"$regex",
			"$size",
		}
		if field == "_id" { // compared in another order, see the package's documentation
			value = rapid.SampledFrom([]string{`"d0"`, `"d1"`, `"d5"`, `"x"`}).Draw(t, "id")
			operators = operators[:8]
		}
		o := rapid.SampledFrom(operators).Draw(t, "op")
		switch o {
		case "$in", "$nin":
			value = "[" + value + "," + rapid.SampledFrom(bruteValues).Draw(t, "more") + "]"
		case "$exists":
			value = rapid.SampledFrom([]string{"true", "false"}).Draw(t, "exists")
		case "$beginsWith", "$regex":
			value = rapid.SampledFrom([]string{`"a"`, `"b"`, `"ab"`}).Draw(t, "text")
		case "$size":
			value = "1"
		}
		return `"` + field + `":{"` + o + `":` + value + "}"
	})
}
