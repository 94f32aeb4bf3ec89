package mango_test

import (
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
)

// This file is a matcher of its own: it reads selectors as they are written and shares nothing with the package but the
// order of values.

// brute reports whether a document passes a selector of anySelector; negated: whether it passes its opposite. A missing
// field fails every condition, negated or not, but for one that it is missing.
func brute(selector, doc ejson.Value, negated bool) bool {
	all := true
	for name, arg := range selector.Members() {
		all = bruteMember(name.Text(), arg, doc, negated) == !negated && all
	}
	if negated {
		// The opposite of several members is that one of them does not hold.
		some := false
		for name, arg := range selector.Members() {
			some = some || bruteMember(name.Text(), arg, doc, true)
		}
		return some
	}
	return all
}

func bruteMember(name string, arg, doc ejson.Value, negated bool) bool {
	every, some := true, false
	kids := func(negated bool) {
		for kid := range arg.Elements() {
			holds := brute(kid, doc, negated)
			every, some = every && holds, some || holds
		}
	}
	switch name {
	case "$and":
		if kids(negated); negated {
			return some
		}
		return every
	case "$or":
		if kids(negated); negated {
			return every
		}
		return some
	case "$nor":
		if kids(!negated); negated {
			return some
		}
		return every
	case "$not":
		return brute(arg, doc, !negated)
	}
	value, there := lookup(doc, name)
	if arg.Kind() != ejson.Object {
		return there && (collate.Compare(value, arg) == 0) == !negated
	}
	for o, operand := range arg.Members() {
		holds := bruteCondition(o.Text(), operand, value, there, negated)
		every, some = every && holds, some || holds
	}
	if negated {
		return some
	}
	return every
}

func bruteCondition(o string, operand, value ejson.Value, there, negated bool) bool {
	if o == "$exists" {
		want, _ := operand.Bool()
		return there == (want != negated)
	}
	if !there {
		return false
	}
	order := collate.Compare(value, operand)
	holds := map[string]bool{
		"$lt": order < 0, "$lte": order <= 0, "$eq": order == 0,
		"$ne": order != 0, "$gte": order >= 0, "$gt": order > 0,
	}[o]
	switch o {
	case "$in", "$nin":
		holds = slices.ContainsFunc(slices.Collect(operand.Elements()), func(e ejson.Value) bool {
			if value.Kind() != ejson.Array {
				return collate.Compare(value, e) == 0
			}
			return slices.ContainsFunc(
				slices.Collect(value.Elements()),
				func(v ejson.Value) bool { return collate.Compare(v, e) == 0 },
			)
		}) == (o == "$in")
	case "$beginsWith":
		holds = value.Kind() == ejson.String && strings.HasPrefix(value.Text(), operand.Text())
	case "$regex":
		holds = value.Kind() == ejson.String && strings.Contains(value.Text(), operand.Text())
	case "$size":
		n, _ := operand.Int()
		holds = value.Kind() == ejson.Array && int64(value.Len()) == n
	}
	return holds != negated
}

// lookup follows a name with dots through objects.
func lookup(doc ejson.Value, name string) (ejson.Value, bool) {
	for _, part := range strings.Split(name, ".") {
		if doc.Kind() != ejson.Object {
			return doc, false
		}
		member, ok := doc.Get(part)
		if !ok {
			return doc, false
		}
		doc = member
	}
	return doc, true
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
