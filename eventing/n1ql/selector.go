package n1ql

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// A selector of Mango is made of WHERE so that indexes can be used and few documents are read. It
// finds at least the documents for which WHERE holds; the evaluator decides. So whatever Mango sees
// in another way than N1QL is made wider here, or left out:
//
//   - strings are ordered by Unicode's collation there and by their bytes here, and two that differ
//     may be equal there;
//   - objects are equal there only if their members are in the same order;
//   - $in looks into arrays; paths go through arrays by numbers that are names here;
//   - a field that is missing fails all conditions but $exists:false, which needs the object around
//     it.

// maxSelector bounds a selector, and maxInList the list of an $in in it: larger conditions are left
// to the evaluator.
const (
	maxSelector = 64 << 10
	maxInList   = 1000
	maxPattern  = 1000
)

// translator makes selectors.
type translator struct {
	env *env // for what is constant
	// variable is that of the ANY that the conditions are in, "" outside of one: then paths are
	// those of the document.
	variable string
}

// selectorFor is the selector for WHERE, nil if it would find all documents.
func selectorFor(where expr, e *env) []byte {
	if where == nil {
		return nil
	}
	t := translator{env: e}
	s := t.condition(where, true)
	if s == "" || len(s) > maxSelector {
		return nil
	}
	return []byte(s)
}

// condition is a selector that finds all for which an expression holds, or, if wanted is false, all
// for which it is FALSE (not MISSING or NULL). It is empty if that may be any.
func (t *translator) condition(x expr, wanted bool) string {
	switch x := x.(type) {
	case *not:
		return t.condition(x.of, !wanted)
	case *allOf:
		return t.several(x.list, wanted, wanted)
	case *anyOf:
		return t.several(x.list, wanted, !wanted)
	case *comparison:
		return t.comparison(x, wanted)
	case *between:
		low, high := &comparison{">=", x.of, x.low}, &comparison{"<=", x.of, x.high}
		return t.several([]expr{low, high}, wanted, wanted)
	case *inList:
		return t.inList(x, wanted)
	case *like:
		return t.like(x, wanted)
	case *isWhat:
		return t.is(x, wanted)
	case *quantified:
		return t.quantified(x, wanted)
	}
	if p, ok := t.path(x); ok { // a field that is a condition itself
		if wanted {
			return p.is(`{"$gt":false}`)
		}
		return p.is(`{"$gt":null}`)
	}
	return ""
}

// several joins conditions: all must hold, or any.
func (t *translator) several(list []expr, wanted, all bool) string {
	var parts []string
	for _, x := range list {
		part := t.condition(x, wanted)
		if part != "" {
			parts = append(parts, part)
		} else if !all {
			return ""
		}
	}
	if all {
		return joined("$and", parts)
	}
	return joined("$or", parts)
}

// joined joins selectors; no selector is that for all documents.
func joined(name string, parts []string) string {
	switch len(parts) {
	case 0:
		return ""
	case 1:
		return parts[0]
	}
	return `{"` + name + `":[` + strings.Join(parts, ",") + `]}`
}

// field is a field of a document, or of an element of an array, in Mango's form.
type field struct {
	name  string // "" for the element itself
	parts int
	id    bool // _id
	rev   bool // _rev
}

// is is the selector of a condition on the field.
func (f *field) is(condition string) string {
	if f.name == "" {
		return condition
	}
	return `{` + string(ejson.AppendString(nil, f.name)) + `:` + condition + `}`
}

// qualified reports whether fields have the alias of their term in front, as they must where there are
// joins: a bare name is a term or a variable there.
func (t *translator) qualified() bool { return len(t.env.statement.joins) > 0 }

// path gives the field that an expression reads; ok is false if the expression is no field, or one
// that Mango cannot name.
func (t *translator) path(x expr) (f field, ok bool) {
	switch x := x.(type) {
	case *identifier:
		switch {
		case t.variable != "":
			return field{}, x.name == t.variable
		case t.qualified(), t.env.known(x.name) != nameOfField:
			return field{}, false
		}
		return t.root(x.name)
	case *fieldOf:
		if meta, ok := x.of.(*metaOf); ok && t.variable == "" {
			if meta.alias != t.env.alias && (t.qualified() || meta.alias != "" && t.env.around(meta.alias)) {
				return field{}, false
			}
			f = field{id: x.name == "id", rev: x.name == "cas"}
			f.name = map[string]string{"id": "_id", "cas": "_rev"}[x.name]
			return f, f.name != ""
		}
		if name, ok := x.of.(*identifier); ok && t.variable == "" && name.name == t.env.alias {
			return t.root(x.name)
		}
		f, ok = t.path(x.of)
		return f.below(x.name, ok)
	case *elementOf:
		at, constant := t.constant(x.at)
		n, integer := at.Num.Int()
		if !constant || at.Kind != datum.KindNumber || !integer || n < 0 {
			return field{}, false
		}
		f, ok = t.path(x.of)
		return f.below(strconv.FormatInt(n, 10), ok)
	}
	return field{}, false
}

// named tells a variable of this name.
func named(name string) func(variable) bool {
	return func(v variable) bool { return v.name == name }
}

// root is a field of the document itself. Those with an underscore in front are not in the
// documents of statements.
func (t *translator) root(name string) (field, bool) {
	f := field{}
	return f.below(name, !strings.HasPrefix(name, "_"))
}

// below is a member or an element of the field.
func (f field) below(name string, ok bool) (field, bool) {
	if !ok || f.id || f.rev || name == "" || strings.Contains(name, `\`) || f.name == "" && name[0] == '$' {
		return field{}, false
	}
	name = strings.ReplaceAll(name, ".", `\.`)
	if f.name != "" {
		name = f.name + "." + name
	}
	return field{name: name, parts: f.parts + 1}, true
}

// constant evaluates an expression that has the same value for all documents.
func (t *translator) constant(x expr) (datum.Value, bool) {
	known := func(name string) nameKind {
		if name == t.variable && name != "" {
			return nameOfRow
		}
		return t.env.known(name)
	}
	if !constant(x, known) {
		return datum.Value{}, false
	}
	e := *t.env
	v, err := x.eval(&e)
	return v, err == nil
}

// opposites are the operators that hold where the other one is FALSE.
var opposites = map[string]string{"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

// mirrored are the operators for operands that change places.
var mirrored = map[string]string{"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

// comparison makes a selector of a comparison of a field with a constant, on either side. wanted is
// FALSE inside of a NOT, where the opposite operator is taken. "" means that Mango cannot say it:
// the evaluator alone decides then.
func (t *translator) comparison(x *comparison, wanted bool) string {
	op, of, with := x.op, x.a, x.b
	if !wanted {
		op = opposites[op]
	}
	f, ok := t.path(of)
	v, constant := t.constant(with)
	if !ok || !constant {
		op = mirrored[op]
		f, ok = t.path(with)
		v, constant = t.constant(of)
	}
	if !ok || !constant || v.Unknown() {
		return ""
	}
	if f.id || f.rev {
		return f.compareMeta(op, &v)
	}
	return f.compare(op, &v)
}

// mangoOperators are Mango's names.
var mangoOperators = map[string]string{
	"=": "$eq", "!=": "$ne", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte",
}

// compareMeta is for ids, which are strings in the order of their bytes, and for revisions, which
// have no order.
func (f *field) compareMeta(op string, v *datum.Value) string {
	if v.Kind != datum.KindString || f.rev && op != "=" {
		return ""
	}
	return f.is(`{"` + mangoOperators[op] + `":` + string(ejson.AppendString(nil, v.Text)) + `}`)
}

// compare compares with a value that is known. Values of different kinds are ordered by kind in
// both languages.
func (f *field) compare(op string, v *datum.Value) string {
	switch op {
	case "=":
		switch {
		case v.Kind == datum.KindObject:
			return f.is(`{"$type":"object"}`)
		case v.Kind == datum.KindArray && bytes.IndexByte(printed(v), '{') >= 0:
			return f.is(`{"$type":"array"}`)
		}
		return f.is(`{"$eq":` + string(printed(v)) + `}`)
	case "!=":
		if v.Kind > datum.KindNumber { // what differs by bytes may be equal in Mango
			return f.is(`{"$gt":null}`)
		}
		return f.is(`{"$gt":null,"$ne":` + string(printed(v)) + `}`)
	}
	low, high := `"$gt":null`, ""
	above := op[0] == '>'
	switch {
	case v.Kind <= datum.KindNumber && above:
		low = `"` + mangoOperators[op] + `":` + string(printed(v))
	case v.Kind <= datum.KindNumber:
		high = `,"` + mangoOperators[op] + `":` + string(printed(v))
	case above: // all of the kind, and of those that come after
		low = `"$gte":` + least[v.Kind]
	case v.Kind < datum.KindObject: // all of the kind, and of those that come before
		high = `,"$lt":` + least[v.Kind+1]
	}
	return f.is(`{` + low + high + `}`)
}

// least is the least value of a kind.
var least = map[datum.Kind]string{datum.KindString: `""`, datum.KindArray: `[]`, datum.KindObject: `{}`}

func printed(v *datum.Value) []byte {
	text, _ := v.AppendJSON(nil, datum.MaxValueSize)
	return text
}

func (t *translator) inList(x *inList, wanted bool) string {
	if f, ok := t.path(x.list); ok {
		return t.inField(x, &f, wanted)
	}
	list, constant := t.constant(x.list)
	f, ok := t.path(x.of)
	if !ok || !constant || list.Kind != datum.KindArray || list.Length() > maxInList {
		return ""
	}
	if !wanted {
		return f.is(`{"$gt":null}`)
	}
	var known []datum.Value
	for _, v := range list.Elements() {
		switch {
		case v.Kind > datum.KindString && !f.id:
			return "" // $in looks for elements of arrays, and objects are not equal in any order
		case f.id && v.Kind == datum.KindString, !f.id && !v.Unknown():
			known = append(known, v)
		}
	}
	all := datum.Array(known)
	return f.is(`{"$in":` + string(printed(&all)) + `}`)
}

// inField is for a value that is looked for in an array of the document.
func (t *translator) inField(x *inList, f *field, wanted bool) string {
	v, constant := t.constant(x.of)
	if !wanted || !constant || v.Unknown() || v.Kind > datum.KindString {
		return f.is(`{"$type":"array"}`)
	}
	return f.is(`{"$elemMatch":{"$eq":` + string(printed(&v)) + `}}`)
}

func (t *translator) like(x *like, wanted bool) string {
	f, ok := t.path(x.of)
	v, constant := t.constant(x.pattern)
	if !ok || f.rev {
		return ""
	}
	if !wanted || !constant || v.Kind != datum.KindString || len(v.Text) > maxPattern {
		return f.is(`{"$type":"string"}`)
	}
	pattern := datum.ParseLike(v.Text)
	prefix, whole := pattern.Prefix()
	if whole {
		v = datum.Text(prefix)
		if f.id {
			return f.compareMeta("=", &v)
		}
		return f.compare("=", &v)
	}
	bounds := ""
	// Characters of ASCII come before what begins with them in both orders, and nothing comes after
	// U+FFFF.
	if prefix != "" && strings.IndexFunc(prefix, func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
		last := prefix + "\uffff"
		if f.id {
			last = prefix + "\U0010ffff"
		}
		bounds = `"$gte":` + string(ejson.AppendString(nil, prefix)) + `,"$lte":` +
			string(ejson.AppendString(nil, last)) + `,`
	}
	return f.is(`{` + bounds + `"$regex":` + string(ejson.AppendString(nil, pattern.Regexp())) + `}`)
}

func (t *translator) is(x *isWhat, wanted bool) string {
	f, ok := t.path(x.of)
	if !ok || f.id || f.rev {
		return ""
	}
	what := x.what
	if !wanted {
		if what = "NOT " + what; strings.HasPrefix(x.what, "NOT ") {
			what = x.what[len("NOT "):]
		}
	}
	// $exists:false needs the object that would have the field; that of a document's own fields is
	// always there.
	own := f.parts == 1 && t.variable == ""
	switch what {
	case "NULL":
		return f.is(`{"$eq":null}`)
	case "NOT NULL", "VALUED":
		return f.is(`{"$gt":null}`)
	case "NOT MISSING":
		return f.is(`{"$exists":true}`)
	case "MISSING":
		if own {
			return f.is(`{"$exists":false}`)
		}
	case "NOT VALUED":
		if own {
			return `{"$or":[` + f.is(`{"$exists":false}`) + `,` + f.is(`{"$eq":null}`) + `]}`
		}
	}
	return ""
}

func (t *translator) quantified(x *quantified, wanted bool) string {
	if len(x.over) > 1 { // what holds of elements beside each other is nothing that Mango can say
		var parts []string
		for i := range x.over {
			if f, ok := t.path(x.over[i].in); ok && !f.id && !f.rev && x.over[i].isPlain() {
				parts = append(parts, f.is(`{"$type":"array"}`))
			}
		}
		return joined("$and", parts)
	}
	f, ok := t.path(x.over[0].in)
	if !ok || f.id || f.rev || !x.over[0].isPlain() {
		return ""
	}
	inner := translator{env: t.env, variable: x.over[0].name}
	if wanted && x.any {
		if c := inner.condition(x.satisfies, true); c != "" {
			return f.is(`{"$elemMatch":` + c + `}`)
		}
	}
	return f.is(`{"$type":"array"}`)
}

// keysOf gives the ids that WHERE restricts the documents to; ok is false if it does not restrict
// them. Of AND one condition with ids is enough, since WHERE is evaluated for each document anyway.
func keysOf(where expr, e *env) (keys []string, ok bool) {
	if all, isAll := where.(*allOf); isAll {
		for _, x := range all.list {
			if keys, ok := keysOf(x, e); ok {
				return keys, true
			}
		}
		return nil, false
	}
	t := translator{env: e}
	switch x := where.(type) {
	case *comparison:
		of, with := x.a, x.b
		if f, ok := t.path(of); !ok || !f.id {
			of, with = with, of
		}
		f, isField := t.path(of)
		v, constant := t.constant(with)
		if x.op != "=" || !isField || !f.id || !constant {
			return nil, false
		}
		if v.Kind == datum.KindString {
			keys = append(keys, v.Text)
		}
		return keys, true
	case *inList:
		f, isField := t.path(x.of)
		v, constant := t.constant(x.list)
		if !isField || !f.id || !constant {
			return nil, false
		}
		for _, v := range datum.Distinct(v.Elements()) {
			if v.Kind == datum.KindString {
				keys = append(keys, v.Text)
			}
		}
		return keys, true
	}
	return nil, false
}
