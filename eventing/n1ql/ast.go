package n1ql

import (
	"slices"

	"github.com/settee-db/settee/eventing/n1ql/datum"
	"github.com/settee-db/settee/eventing/n1ql/functions"
	"github.com/settee-db/settee/eventing/n1ql/lex"
)

// Statement is a parsed statement. It is immutable and may be used by several goroutines.
type Statement struct {
	kind   Kind
	text   string
	from   *keyspaceRef // nil in a SELECT without FROM
	params []string     // the names of the parameters, in the order of their first use

	// Of a subquery: the names in it that may be terms or variables of the statements around it.
	free    []string
	random  bool         // another result each time
	queries []*Statement // of a whole statement: all subqueries in it, those within others too

	distinct   bool
	raw        bool // of the only projection, or of RETURNING
	expiry     bool // it may read META().expiration
	projection []projection
	returning  bool // RETURNING, with the projection
	aggregates []*aggregate
	windows    []*window // functions over windows

	keys     expr // USE KEYS
	joins    []*join
	lets     []variable // LET
	where    expr
	groups   []groupTerm // GROUP BY
	lettings []variable  // LETTING
	having   expr
	order    []sortTerm
	limit    expr
	offset   expr
	inserts  []insertRow
	rows     *subquery    // INSERT … SELECT: inserts is how a row of it becomes a document
	set      []assignment // of UPDATE, in order, those of UNSET without a value
	merge    *merge       // of MERGE, whose source is from, and whose target is joined
}

// merge is what MERGE does; a nil condition always holds.
type merge struct {
	update, remove               bool
	updateIf, removeIf, insertIf expr
	insert                       *insertRow // its key is nil with ON KEY
}

// Kind says what a statement does.
type Kind string

// The kinds of statements.
const (
	Select Kind = "SELECT"
	Insert Kind = "INSERT"
	Upsert Kind = "UPSERT"
	Update Kind = "UPDATE"
	Delete Kind = "DELETE"
	Merge  Kind = "MERGE"
)

// Kind says what the statement does.
func (s *Statement) Kind() Kind { return s.kind }

// Params are the names of the parameters, in the order of their first use; those of positional ones
// are numbers.
func (s *Statement) Params() []string { return s.params }

// keyspace is the name of the first keyspace, as Keyspaces gives it; "" if there is none.
func (s *Statement) keyspace() string {
	if s.from == nil || !s.from.isKeyspace() {
		return ""
	}
	return s.from.shown()
}

// Target is the name of the keyspace that the statement writes to, as Keyspaces gives it; "" for a
// SELECT.
func (s *Statement) Target() string {
	switch s.kind {
	case Select:
		return ""
	case Merge:
		return s.joins[0].keyspace.shown()
	}
	return s.keyspace()
}

// Keyspaces are the names of all keyspaces that are read or written, as the statement has them, a
// parameter's with a dollar in front.
func (s *Statement) Keyspaces() []string {
	var names []string
	for _, s := range append([]*Statement{s}, s.queries...) {
		if name := s.keyspace(); name != "" {
			names = append(names, name)
		}
		for _, j := range s.joins {
			if j.keyspace != nil {
				names = append(names, j.keyspace.shown())
			}
		}
	}
	return names
}

// keyspaceRef is a keyspace in a statement: a name, or a parameter that has it; or what FROM has in
// place of one, an expression whose elements are the rows.
type keyspaceRef struct {
	source expr // in place of a keyspace, nil for one
	name   string
	param  string
	last   string // the collection, where the name came with scope and collection
	alias  string // "" for the default one
	sets   *setOf // in place of a keyspace
}

// isKeyspace reports whether it is one, and no expression.
func (k *keyspaceRef) isKeyspace() bool { return k.source == nil && k.sets == nil }

// shown is the name as the statement has it.
func (k *keyspaceRef) shown() string {
	if k.param != "" {
		return "$" + k.param
	}
	return k.name
}

// aliasOf is what the keyspace is called in the statement when it has this name.
func (k *keyspaceRef) aliasOf(name string) string {
	switch {
	case k.alias != "":
		return k.alias
	case k.last != "":
		return k.last // the last part of the path, as in N1QL
	}
	return name
}

// join is what FROM adds to each row of the terms before it: a document of a keyspace (JOIN), all
// documents of it that belong to the row as an array (NEST), or an element of an array (UNNEST).
type join struct {
	what     string       // JOIN, NEST or UNNEST
	outer    bool         // LEFT: rows stay to which nothing is added
	keyspace *keyspaceRef // nil for UNNEST
	array    expr         // of UNNEST
	alias    string
	keys, on expr // ON KEYS or ON
}

// variable is a name for the value of an expression, of LET or LETTING.
type variable struct {
	name  string
	value expr
}

// groupTerm is an element of GROUP BY; alias may be "".
type groupTerm struct {
	expr  expr
	alias string
}

// projection is an element of a list of SELECT or RETURNING.
type projection struct {
	expr expr   // nil for *
	name string // of the member in the row
	star bool   // * or expr.*
}

// sortTerm is an element of ORDER BY.
type sortTerm struct {
	expr       expr
	descending bool
	nulls      nullsOrder
}

// nullsOrder is where MISSING and NULL come in an order.
type nullsOrder uint8

const (
	nullsByValue nullsOrder = iota // where their place among the values is: first, or last in a descending order
	nullsFirst
	nullsLast
)

// insertRow is an element of VALUES.
type insertRow struct{ key, value, options expr }

// assignment gives a value to a path of the document, or removes what is there; or it sets
// META().expiration.
type assignment struct {
	path       []step
	value      expr // nil removes
	expiration bool // in place of a path
}

// binding is a variable that takes the elements of an array, one after the other; or, WITHIN, all
// values in an array or object, however deep. Beside it may be a variable for their places: the
// number of an element, from 0 on, the name of a member. Such a pair goes over the members of an
// object, too.
type binding struct {
	place  string // the variable's name, "" if there is none
	name   string
	in     expr
	within bool
}

// isPlain reports whether it is a variable for the elements of an array alone.
func (b *binding) isPlain() bool { return !b.within && b.place == "" }

// count is how many variables there are of a binding.
func (b *binding) count() int {
	if b.place != "" {
		return 2
	}
	return 1
}

// step is a part of a path: a name, or the number of an element.
type step struct {
	name    string
	at      int64
	isIndex bool
}

// windowSpec is a window: which rows it goes over, and which of them are the frame of one of them.
type windowSpec struct {
	name      string // in the clause WINDOW
	base      string // a window that this one goes on from, "" when it has all of it
	whole     bool   // it is the base as it is
	partition []expr
	order     []sortTerm
	frame     *frame // nil for the default one
	token     lex.Token
}

// frame is the rows of a window that are looked at for one of them.
type frame struct {
	unit     string // ROWS, RANGE or GROUPS
	from, to edge
	exclude  string // CURRENT ROW, GROUP, TIES, or "" for nothing
	token    lex.Token
}

// edge is an end of a frame.
type edge struct {
	side      int  // -1 PRECEDING, 1 FOLLOWING, 0 CURRENT ROW
	unbounded bool // the first or last row of the partition
	by        expr // how far away, nil for the current row
}

// expr is an expression. Evaluation fails only where a bound is hit: what makes no sense is NULL or
// MISSING.
type expr interface {
	eval(e *env) (datum.Value, error)
}

// The expressions.
type (
	literal   struct{ value datum.Value }
	parameter struct{ name string }
	// identifier is a variable of a binding, the keyspace's alias, or a field of the document.
	identifier struct{ name string }
	fieldOf    struct {
		of   expr
		name string
	}
	elementOf  struct{ of, at expr }
	sliceOf    struct{ of, from, to expr } // from or to may be nil, for the ends
	starOf     struct{ of expr }           // [*]
	arrayOf    struct{ list []expr }
	objectOf   struct{ members []memberExpr }
	memberExpr struct {
		name  string
		value expr
	}
	negative   struct{ of expr }
	arithmetic struct {
		op   string
		a, b expr
	}
	concat     struct{ list []expr }
	comparison struct {
		op   string // = != < <= > >=
		a, b expr
	}
	between struct{ of, low, high expr }
	inList  struct{ of, list expr }
	within  struct{ of, all expr }
	like    struct{ of, pattern expr }
	isWhat  struct { // IS …; IS NOT … is another what
		of   expr
		what string // NULL, MISSING, VALUED, NOT NULL, NOT MISSING, NOT VALUED
	}
	not        struct{ of expr }
	allOf      struct{ list []expr } // AND
	anyOf      struct{ list []expr } // OR
	quantified struct {
		every, any bool // ANY AND EVERY is both
		over       []binding
		satisfies  expr
	}
	// transformation is ARRAY, FIRST or OBJECT … FOR … END.
	transformation struct {
		what string
		name expr // of a member, for OBJECT
		of   expr
		over []binding
		when expr // nil for all elements
	}
	exists   struct{ of expr }          // an array with elements
	subquery struct{ query *Statement } // the array of its rows
	setOf    struct {                   // the source of the statement that UNION and its like make
		op       string // UNION, INTERSECT, EXCEPT
		all      bool
		of, with *subquery
	}
	caseOf struct {
		of        expr // nil where each WHEN is a condition
		whens     []when
		otherwise expr // nil for NULL
	}
	when     struct{ condition, then expr }
	metaOf   struct{ alias string } // "" for the only document that there is
	function struct {
		name string
		fn   *functions.Function
		args []expr
	}
	aggregate struct {
		name     string
		of       expr // nil for COUNT(*)
		filter   expr // FILTER, nil for all rows
		distinct bool
		at       int // its place in the results
	}
	// window is a function over a window.
	window struct {
		name        string
		args        []expr
		filter      expr // of an aggregate, nil for all rows
		distinct    bool
		ignoreNulls bool
		fromLast    bool
		over        *windowSpec
		at          int // its place in the results
		token       lex.Token
	}
	// groupKey is the value of a term of GROUP BY.
	groupKey struct{ at int }
)

// operandsOf are the expressions that an expression is made of, in the order of the text.
func operandsOf(x expr) []expr {
	slots := operandSlots(x)
	list := make([]expr, len(slots))
	for i, slot := range slots {
		list[i] = *slot
	}
	return list
}

// operandSlots are the places of these.
func operandSlots(x expr) []*expr {
	switch x := x.(type) {
	case *fieldOf:
		return []*expr{&x.of}
	case *elementOf:
		return []*expr{&x.of, &x.at}
	case *sliceOf:
		return filled(&x.of, &x.from, &x.to)
	case *starOf:
		return []*expr{&x.of}
	case *arrayOf:
		return slotsOf(x.list)
	case *objectOf:
		list := make([]*expr, len(x.members))
		for i := range x.members {
			list[i] = &x.members[i].value
		}
		return list
	case *negative:
		return []*expr{&x.of}
	case *arithmetic:
		return []*expr{&x.a, &x.b}
	case *concat:
		return slotsOf(x.list)
	case *comparison:
		return []*expr{&x.a, &x.b}
	case *between:
		return []*expr{&x.of, &x.low, &x.high}
	case *inList:
		return []*expr{&x.of, &x.list}
	case *within:
		return []*expr{&x.of, &x.all}
	case *like:
		return []*expr{&x.of, &x.pattern}
	case *isWhat:
		return []*expr{&x.of}
	case *not:
		return []*expr{&x.of}
	case *allOf:
		return slotsOf(x.list)
	case *anyOf:
		return slotsOf(x.list)
	case *quantified:
		return append(arraysOf(x.over), &x.satisfies)
	case *transformation:
		return append(arraysOf(x.over), filled(&x.when, &x.name, &x.of)...)
	case *exists:
		return []*expr{&x.of}
	case *caseOf:
		return x.operands()
	case *function:
		return slotsOf(x.args)
	case *aggregate:
		return filled(&x.of, &x.filter)
	case *window:
		return x.operands()
	}
	return nil
}

// filled are the places of a list that have an expression.
func filled(list ...*expr) []*expr {
	return slices.DeleteFunc(list, func(x *expr) bool { return *x == nil })
}

// slotsOf are the places of a list.
func slotsOf(list []expr) []*expr {
	slots := make([]*expr, len(list))
	for i := range list {
		slots[i] = &list[i]
	}
	return slots
}

// arraysOf are the arrays that variables go over.
func arraysOf(over []binding) []*expr {
	list := make([]*expr, len(over))
	for i := range over {
		list[i] = &over[i].in
	}
	return list
}

func (x *window) operands() []*expr {
	list := append(slotsOf(x.args), slotsOf(x.over.partition)...)
	for i := range x.over.order {
		list = append(list, &x.over.order[i].expr)
	}
	return append(list, filled(&x.filter)...)
}

func (x *caseOf) operands() []*expr {
	list := filled(&x.of)
	for i := range x.whens {
		list = append(list, &x.whens[i].condition, &x.whens[i].then)
	}
	return append(list, filled(&x.otherwise)...)
}

// nameKind is what a name in an expression stands for.
type nameKind uint8

const (
	nameOfField nameKind = iota // of a document
	nameOfRow                   // a term or a variable with another value for each document
	nameKnown                   // a term or a variable that has its value already
)

// constant reports whether an expression has the same value for all documents.
func constant(x expr, known func(name string) nameKind) bool {
	switch x := x.(type) {
	case *identifier:
		return known(x.name) == nameKnown
	case *metaOf:
		return x.alias != "" && known(x.alias) == nameKnown
	case *aggregate, *window, *groupKey:
		return false
	case *subquery:
		ofRow := func(name string) bool { return known(name) == nameOfRow }
		return !x.query.random && !slices.ContainsFunc(x.query.free, ofRow)
	case *quantified:
		known = without(known, x.over)
	case *transformation:
		known = without(known, x.over)
	case *function:
		if x.fn.IsRandom() {
			return false
		}
	}
	for _, o := range operandsOf(x) {
		if !constant(o, known) {
			return false
		}
	}
	return true
}

// without are the known names but for those of loop variables.
func without(known func(string) nameKind, over []binding) func(string) nameKind {
	return func(name string) nameKind {
		if slices.ContainsFunc(over, isVariable(name)) {
			return nameOfRow
		}
		return known(name)
	}
}

// isVariable tells the binding whose variable has this name.
func isVariable(name string) func(binding) bool {
	return func(b binding) bool { return b.name == name || b.place == name }
}
