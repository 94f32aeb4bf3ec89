package aggregate

import (
	"math"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
)

// Bounds of a request.
const (
	maxGroupFields = 16
	maxValues      = 64
	maxOrder       = 16
	maxPrefix      = 1 << 20 // characters
)

// Request is a checked request to _aggregate. It is immutable and owns its memory.
type Request struct {
	query     *mango.Request // finds the documents; its fields are fields
	fields    []string       // those that are looked at, each once
	partition string
	groups    []groupField
	values    []accumulation
	order     []orderTerm // of the groups; those that are equal in it are ordered by key
	limit     int64
	after     *place // where the page begins; nil: at the beginning
	// ExecutionStats asks for what the request cost.
	ExecutionStats bool

	selector, use ejson.Value // as they came, for other queries of the same documents
	defaults      mango.Defaults
}

// groupField is a field that groups are made by.
type groupField struct {
	name   string
	field  int         // of Request.fields
	prefix int         // characters of text that count; 0: all
	floor  ejson.Value // numbers are rounded down to a multiple of it; of kind Invalid: not
}

// whole reports whether the value counts as it is.
func (g groupField) whole() bool { return g.prefix == 0 && g.floor.Kind() == ejson.Invalid }

// equals reports whether another group is by the same values.
func (g groupField) equals(other groupField) bool { return other.whole() && other.field == g.field }

// accumulation is a value that is computed for each group.
type accumulation struct {
	name  string
	op    string // with its $
	field int    // of Request.fields; unused for $count
}

// orderTerm is one term of the order of the groups.
type orderTerm struct {
	value      int // of Request.values; keyTerm for the key
	descending bool
}

const keyTerm = -1

// byKey reports whether the groups are asked for in the order of their keys.
func (r *Request) byKey() bool {
	return len(r.order) == 0 || len(r.order) == 1 && r.order[0] == orderTerm{value: keyTerm}
}

// fromEnd reports whether they are asked for in the reverse order of their keys.
func (r *Request) fromEnd() bool {
	return len(r.order) == 1 && r.order[0] == orderTerm{value: keyTerm, descending: true}
}

// page is how many groups are read for a page that has them in the order of their keys.
func (r *Request) page() int64 { return min(r.limit, maxGroups) }

func bad(word, reason string) error { return compat.Named(compat.KindBadRequest, word, reason) }

func text(v ejson.Value) string { return string(v.AppendJSON(nil)) }

// Parse reads the body of POST /db/_aggregate, an object; d.Limit is how many groups a page has
// where the request does not say. Errors in the selector and in use_index are those of a query.
func Parse(body ejson.Value, d mango.Defaults) (*Request, error) {
	// A copy of its own: the request outlives the body, whose memory is used again.
	own, err := ejson.Parse(body.AppendJSON(nil))
	if err != nil {
		return nil, err
	}
	r := &Request{limit: d.Limit, defaults: d}
	if d.Partition != nil {
		r.partition = *d.Partition
	}
	readers := []struct {
		name string
		read func(ejson.Value) error
	}{
		{"selector", func(v ejson.Value) error { r.selector = v; return nil }},
		{"use_index", func(v ejson.Value) error { r.use = v; return nil }},
		{"group_by", r.readGroups},
		{"values", r.readValues},
		{"sort", r.readOrder},
		{"limit", r.readLimit},
		{"bookmark", r.readBookmark},
		{"execution_stats", r.readStats},
	}
	// Names are checked before values, as for _find (mango_opts:validate).
	for name := range own.Members() {
		if !slices.ContainsFunc(readers, func(m struct {
			name string
			read func(ejson.Value) error
		}) bool {
			return name.TextIs(m.name)
		}) {
			return nil, bad("invalid_key", "Invalid key "+name.Text()+" for this request.")
		}
	}
	for _, m := range readers {
		if v, ok := own.Get(m.name); ok {
			if err := m.read(v); err != nil {
				return nil, err
			}
		}
	}
	if len(r.values) == 0 {
		return nil, bad("missing_required_key", "Missing required key: values")
	}
	r.query, err = r.find(nil, false)
	return r, err
}

// find makes the query that finds the documents, in an order of fields if any are given.
func (r *Request) find(sort []string, descending bool) (*mango.Request, error) {
	body := []byte(`{"selector":`)
	if r.selector.Kind() == ejson.Invalid {
		body = append(body, "{}"...)
	} else {
		body = r.selector.AppendJSON(body)
	}
	fields := r.fields
	if len(fields) == 0 {
		fields = []string{"_id"} // an empty list would be all of them
	}
	body = ejson.AppendStrings(append(body, `,"fields":`...), fields)
	separator := `,"sort":[{`
	for _, field := range sort {
		body = append(ejson.AppendString(append(body, separator...), field), direction(descending)...)
		separator = `,{`
	}
	if len(sort) > 0 {
		body = append(body, ']')
	}
	if r.use.Kind() != ejson.Invalid {
		body = r.use.AppendJSON(append(body, `,"use_index":`...))
	}
	v, err := ejson.Parse(append(body, '}'))
	if err != nil {
		return nil, err
	}
	d := r.defaults
	d.Limit, d.TextLimit, d.NouveauLimit = math.MaxInt64, 0, 0
	return mango.ParseRequest(v, d)
}

func direction(descending bool) string {
	if descending {
		return `:"desc"}`
	}
	return `:"asc"}`
}

// field gives the number of a field, which it adds to those that are looked at.
func (r *Request) field(name string) (int, error) {
	if _, ok := mango.SplitField(name); !ok {
		return 0, bad("invalid_field_name", "Invalid field name: "+name)
	}
	if i := slices.Index(r.fields, name); i >= 0 {
		return i, nil
	}
	r.fields = append(r.fields, name)
	return len(r.fields) - 1, nil
}

// readGroups reads group_by: names of fields, and objects {"field", "prefix"} or {"field", "floor"}.
func (r *Request) readGroups(v ejson.Value) (err error) {
	invalid := func(v ejson.Value) error { return bad("invalid_group_by", "Invalid group_by: "+text(v)) }
	if v.Kind() != ejson.Array || v.Len() > maxGroupFields {
		return invalid(v)
	}
	for e := range v.Elements() {
		g := groupField{name: e.Text()}
		switch e.Kind() {
		case ejson.String:
		case ejson.Object:
			for name, arg := range e.Members() {
				switch n, isInt := arg.Int(); {
				case name.TextIs("field") && arg.Kind() == ejson.String:
					g.name = arg.Text()
				case name.TextIs("prefix") && isInt && n > 0 && n <= maxPrefix:
					g.prefix = int(n)
				case name.TextIs("floor") && isPositive(arg):
					g.floor = arg
				default:
					return invalid(e)
				}
			}
			if g.prefix > 0 && g.floor.Kind() != ejson.Invalid {
				return invalid(e)
			}
		default:
			return invalid(e)
		}
		if g.field, err = r.field(g.name); err != nil {
			return err
		}
		if g.whole() && slices.ContainsFunc(r.groups, g.equals) {
			return invalid(v)
		}
		r.groups = append(r.groups, g)
	}
	return nil
}

// readValues reads values: an object of objects with one member each, the operator and its field.
func (r *Request) readValues(v ejson.Value) (err error) {
	if v.Kind() != ejson.Object || v.Len() == 0 || v.Len() > maxValues {
		return bad("invalid_values", "Invalid values: "+text(v))
	}
	for name, spec := range v.Members() {
		a := accumulation{name: name.Text()}
		invalid := bad("invalid_values", "Invalid value "+a.name+": "+text(spec))
		taken := slices.ContainsFunc(r.values, func(other accumulation) bool { return other.name == a.name })
		if taken || a.name == "key" || a.name == "approximate" || spec.Kind() != ejson.Object || spec.Len() != 1 {
			return invalid
		}
		for op, arg := range spec.Members() {
			a.op = op.Text()
			_, known := operators[a.op]
			switch yes, isBool := arg.Bool(); {
			case a.op == countOp && isBool && yes:
			case !known || a.op == countOp || arg.Kind() != ejson.String:
				return invalid
			default:
				if a.field, err = r.field(arg.Text()); err != nil {
					return err
				}
			}
		}
		r.values = append(r.values, a)
	}
	return nil
}

// readOrder reads sort: names of values, or "key", each alone or in an object with its direction.
func (r *Request) readOrder(v ejson.Value) error {
	invalid := func(v ejson.Value) error { return bad("invalid_sort_field", "Invalid sort field: "+text(v)) }
	if v.Kind() != ejson.Array || v.Len() > maxOrder {
		return bad("invalid_sort_json", "Sort must be an array of sort specs, not: "+text(v))
	}
	for e := range v.Elements() {
		name, term := e, orderTerm{value: keyTerm}
		if e.Kind() == ejson.Object && e.Len() == 1 {
			for field, direction := range e.Members() {
				name, term.descending = field, direction.TextIs("desc")
				if !term.descending && !direction.TextIs("asc") {
					return invalid(e)
				}
			}
		} else if e.Kind() != ejson.String {
			return invalid(e)
		}
		if !name.TextIs("key") {
			term.value = slices.IndexFunc(r.values, func(a accumulation) bool { return name.TextIs(a.name) })
			if term.value < 0 {
				return invalid(e)
			}
		}
		r.order = append(r.order, term)
	}
	return nil
}

func (r *Request) readLimit(v ejson.Value) error {
	n, ok := v.Int()
	if !ok || n < 0 {
		return bad("invalid_non_neg_integer", text(v)+" is not an integer greater than or equal to zero")
	}
	r.limit = n
	return nil
}

func (r *Request) readStats(v ejson.Value) error {
	yes, ok := v.Bool()
	if !ok {
		return bad("invalid_boolean", "Invalid boolean value: "+text(v))
	}
	r.ExecutionStats = yes
	return nil
}

// readBookmark reads the place after which the page begins; null and "" are the beginning.
func (r *Request) readBookmark(v ejson.Value) (err error) {
	if v.IsNull() || v.Kind() == ejson.String && v.TextIs("") {
		return nil
	}
	r.after, err = r.parseBookmark(v)
	return err
}
