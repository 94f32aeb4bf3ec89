package mango

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/search/index"
	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

// textQuery makes the query of a tree. What it finds goes through the selector again, so it may
// hold for more documents than the selector, and must not hold for fewer, but for what a text index
// means by a comparison: values of the type of the argument. CouchDB's own queries do hold for
// fewer: of strings above others, of negations of what they only ask for roughly, of texts with
// digits and quotes.
type textQuery struct {
	*textDefinition
	kind segment.Kind
	// collated says that ids are not compared by their bytes, as terms are.
	collated bool
	// phrase makes a query of $text.
	phrase func(field, text string) (query.Node, error)
	err    error
}

var (
	all     query.Node = &query.All{}
	nothing query.Node = &query.Bool{}
)

// over is a query that holds at least for what the node holds for.
func (q *textQuery) over(n *textNode) query.Node {
	switch n.op {
	case textAnd, textOr:
		return q.list(n, q.over)
	case textNot:
		there, not := q.over(n.kids[0]), q.under(n.kids[1])
		if not == nothing || there == nothing {
			return there
		}
		return without(there, not)
	case textNoField:
		if there := q.under(n.kids[0]); there != nothing {
			return without(all, there)
		}
		return all
	case textDefault:
		found, err := q.phrase(defaultTextField, n.arg.Text())
		if err != nil && q.err == nil {
			q.err = err
		}
		if found == nil {
			return nothing
		}
		return found
	case textHasField, textNull, textRegex:
		return there(n)
	}
	return q.leaf(n)
}

func without(n, not query.Node) query.Node {
	return &query.Bool{Clauses: []query.BoolClause{{Occur: query.Must, Node: n},
		{Occur: query.MustNot, Node: not}}}
}

// list joins the queries of kids.
func (q *textQuery) list(n *textNode, of func(*textNode) query.Node) query.Node {
	if len(n.kids) == 0 {
		if n.nothing {
			return nothing
		}
		return all
	}
	occur, ends, neutral := query.Must, nothing, all
	if n.op == textOr {
		occur, ends, neutral = query.Should, all, nothing
	}
	b := &query.Bool{}
	for _, kid := range n.kids {
		switch one := of(kid); one {
		case ends:
			return ends
		case neutral:
		default:
			b.Clauses = append(b.Clauses, query.BoolClause{Occur: occur, Node: one})
		}
	}
	switch len(b.Clauses) {
	case 0:
		return neutral
	case 1:
		return b.Clauses[0].Node
	}
	return b
}

// under is a query that holds at most for what the node holds for: what negations may leave out.
func (q *textQuery) under(n *textNode) query.Node {
	switch n.op {
	case textAnd, textOr:
		if len(n.kids) == 0 {
			return nothing
		}
		return q.list(n, q.under)
	case textHasField, textNull:
		if n.exact {
			return there(n)
		}
	case textField:
		if n.exact && q.has(textName(n.path, n.typ)) && isSureValue(n.arg) {
			return q.leaf(n)
		}
	}
	return nothing
}

// isSureValue reports whether the index tells this value from all others.
func isSureValue(v ejson.Value) bool {
	const precise = 1 << 53
	switch v.Kind() {
	case ejson.String:
		return len(v.Text()) < maxTextTerm
	case ejson.Int, ejson.Double:
		f, ok := v.Float()
		return ok && math.Abs(f) < precise
	}
	return true
}

// fieldNames is the field that has the names of all fields of a document with their types.
const fieldNames = "$fieldnames"

// Types of fields without a value, for the names of fields alone.
const (
	typeEmptyObject = "object"
	typeEmptyArray  = "array"
)

// there holds for documents with a field.
func there(n *textNode) query.Node {
	if n.typ != "" {
		return hasName(textName(n.path, n.typ))
	}
	b := &query.Bool{}
	for _, typ := range []string{"string", "number", "boolean", "null", typeEmptyObject} {
		b.Clauses = append(b.Clauses,
			query.BoolClause{Occur: query.Should, Node: hasName(textName(n.path, typ))})
	}
	inside := &query.Prefix{Field: fieldNames, Text: textPath(n.path) + "."}
	b.Clauses = append(b.Clauses, query.BoolClause{Occur: query.Should, Node: inside})
	b.NoCoord = true
	return b
}

// hasName holds for documents with a field of a name and type, and counts as 1 in scores.
func hasName(name string) query.Node {
	return &query.Range{Field: fieldNames, Lower: name, Upper: name, LowerInclude: true,
		UpperInclude: true}
}

// leaf compares values of a field. Where the index does not have them, it holds for all documents
// that do.
func (q *textQuery) leaf(n *textNode) query.Node {
	name := textName(n.path, n.typ)
	switch {
	case n.typ == "length" && !q.lengths:
		if n.optional {
			return all
		}
		return nothing // as in CouchDB: the index was told not to know
	case n.typ != "length" && !q.has(name):
		return hasName(name)
	case n.typ == "boolean":
		return leafOfTerms(name, n)
	case n.typ == "string":
		return q.leafOfStrings(name, n)
	}
	v, ok := n.arg.Float()
	if !ok {
		return hasName(name)
	}
	r := &query.NumRange{Field: name, Min: math.Inf(-1), Max: math.Inf(1), MinInclude: true,
		MaxInclude: true}
	switch n.cmp {
	case selector.OpGt, selector.OpGte:
		r.Min = v
	case selector.OpLt, selector.OpLte:
		r.Max = v
	default:
		if q.kind == segment.Clouseau {
			return &query.Number{Field: name, Value: v}
		}
		r.Min, r.Max = v, v
	}
	return r
}

// leafOfStrings is the query for a comparison of a field's strings. Where the order of terms is not
// that of the selector, it asks for all strings of the field: the selector then decides.
func (q *textQuery) leafOfStrings(name string, n *textNode) query.Node {
	switch {
	case n.cmp == selector.OpEq:
		return &query.Term{Field: name, Term: textTerm(n.arg.Text())}
	case n.cmp == selector.OpBeginsWith:
		return &query.Prefix{Field: name, Text: textTerm(n.arg.Text())}
	case len(n.path) == 1 && n.path[0] == "_id" && !q.collated && len(n.arg.Text()) < maxTextTerm:
		return leafOfTerms(name, n)
	}
	// Selectors compare by the rules of a language, terms are in the order of their bytes.
	return &query.Range{Field: name, LowerOpen: true, UpperOpen: true}
}

// leafOfTerms compares in the order of terms.
func leafOfTerms(name string, n *textNode) query.Node {
	term := n.arg.Text()
	if n.arg.Kind() == ejson.Bool {
		term = string(n.arg.Raw())
	}
	r := &query.Range{Field: name, LowerOpen: true, UpperOpen: true, LowerInclude: true,
		UpperInclude: true}
	switch n.cmp {
	case selector.OpEq:
		return &query.Term{Field: name, Term: term}
	case selector.OpGt, selector.OpGte:
		r.LowerOpen, r.Lower, r.LowerInclude = false, term, n.cmp == selector.OpGte
	default:
		r.UpperOpen, r.Upper, r.UpperInclude = false, term, n.cmp == selector.OpLte
	}
	return r
}

// maxTextTerm is how many bytes of a string an index has as its value; strings that begin alike in
// so many are left to the selector.
const maxTextTerm = 1024

// textTerm is the term of a string.
func textTerm(text string) string {
	if len(text) <= maxTextTerm {
		return text
	}
	end := maxTextTerm
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// textSort is the sort of a query: what the answer is sorted by, and how CouchDB asks for it
// (sort_query/2).
type textSort struct {
	fields []index.SortField
	names  []string
}

// textSort reads the types of the fields of the sort, which are part of their names or follow from
// the selector.
func (r *Request) textSort(kind Kind) (*textSort, error) {
	s := &textSort{}
	for _, name := range r.Sort.Fields {
		p := selector.ParsePath(name)
		if !p.Valid {
			return nil, p.Err()
		}
		escaped, by := textPath(p.Parts), index.ByNumber
		shown := "<number>"
		switch {
		case strings.HasSuffix(escaped, "_3astring"):
			by, shown = index.ByString, "<string>"
		case strings.HasSuffix(escaped, "_3anumber"):
		default:
			typ, err := sortType(r.Selector, name)
			if err != nil {
				return nil, err
			}
			if escaped += "_3a" + typ; typ == "string" {
				by, shown = index.ByString, "<string>"
			}
		}
		s.fields = append(s.fields,
			index.SortField{By: by, Field: escaped, Reverse: r.Sort.Descending})
		if kind == KindNouveau {
			shown = ""
		}
		if escaped += shown; r.Sort.Descending {
			escaped = "-" + escaped
		}
		s.names = append(s.names, escaped)
	}
	if len(s.fields) == 0 {
		s.fields = []index.SortField{{By: index.ByScore}}
	}
	if kind == KindNouveau {
		s.fields = append(s.fields, index.SortField{By: index.ByID})
	}
	return s, nil
}

// sortType is the type of a field by what the selector compares it with
// (mango_selector_text:get_sort_type/2).
func sortType(s *selector.Selector, field string) (string, error) {
	types := map[string]bool{}
	if s.Root != nil {
		sortTypes(s.Root, field, types)
	}
	for typ := range types {
		if len(types) == 1 {
			return typ, nil
		}
	}
	return "", errTextSort(field)
}

// sortTypes collects the types of the values that a selector compares a field with.
func sortTypes(c *selector.Condition, field string, types map[string]bool) {
	if c.Op == selector.OpField && c.Name == field && len(c.Kids[0].Kids) == 0 {
		switch typ := selector.TypeName(c.Kids[0].Arg); typ {
		case "string", "number":
			types[typ] = true
			return
		}
	}
	for _, kid := range c.Kids {
		sortTypes(kid, field, types)
	}
}
