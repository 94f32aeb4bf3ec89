package selector

import (
	"slices"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/pcre"
)

// maxDepth bounds the levels of conditions, and with it the recursion over them.
const maxDepth = 1000

// Selector is a parsed selector in normal form. It is immutable.
type Selector struct {
	Root *Condition // nil for the empty selector, which all documents pass
	// collated says that ids are compared by collation, and ids is the range that they have to be
	// in by their bytes, nil for none: see CollateIDs.
	Collated bool
	ids      *FieldRange
}

// ParseSelector reads a selector, which must be an object, and brings it into normal form: several
// members become $and, a bare value $eq, nested fields are joined with dots, field names and
// negations are pushed down to the operators (mango_selector:normalize/1). Errors are compat.Errors
// with Mango's error word and reason.
func ParseSelector(v ejson.Value) (*Selector, error) { return parseSelector(v, fieldNames{}) }

// ParseSelector35 is ParseSelector with the names of CouchDB 3.5. One that cannot be read is an
// error only of a document in which it is looked up, and none below $elemMatch and its like; "" is
// the value itself; a backslash at the end of a name escapes the dot that joins it to the next one.
func ParseSelector35(v ejson.Value) (*Selector, error) {
	return parseSelector(v, fieldNames{late: true})
}

// parseSelector parses a selector in CouchDB's three steps: operators and arguments, field names
// pushed down to the operators, negations resolved. It works on a copy of the text, which the
// Selector then owns.
func parseSelector(v ejson.Value, names fieldNames) (*Selector, error) {
	if v.Len() == 0 {
		return new(Selector), nil
	}
	own, err := ejson.Parse(v.AppendJSON(nil))
	if err != nil {
		return nil, err
	}
	c, err := new(selectorParser).condition(own, 0)
	if err != nil {
		return nil, err
	}
	if c, err = names.push(c, "", nil); err != nil {
		return nil, err
	}
	if c, err = resolveNegations(c); err != nil {
		return nil, err
	}
	switch missing := c.Op == OpField && c.Name == ""; {
	case missing && names.late: // an error in both versions, and the text is that of 3.6
		return ParseSelector(v)
	case missing:
		return nil, errMissingFieldName
	}
	return &Selector{Root: c}, nil
}

// CollateIDs has ids compared by collation, as other strings are, and within the range of the
// selector by their bytes, too: CouchDB 3.6 reads that range from the documents, and then compares.
// There a query that an index of another field answers is not held to the range; here every index
// gives the same answer.
func (s *Selector) CollateIDs() {
	if s.Root == nil {
		return
	}
	s.Root.collateIDs()
	s.Collated = true
	ranges := s.Ranges()
	if i := slices.IndexFunc(ranges, func(r FieldRange) bool { return r.Field == "_id" }); i >= 0 {
		s.ids = &ranges[i]
	}
}

func (c *Condition) collateIDs() {
	c.inBytes = false
	for _, kid := range c.Kids {
		kid.collateIDs()
	}
}

// hasID reports whether the id of a document is in the range by its bytes, ends included.
func (r *FieldRange) hasID(doc ejson.Value) bool {
	value, _ := doc.Get("_id")
	id := value.Text()
	// A bound that is no string lies below all ids.
	text := func(bound ejson.Value) bool { return bound.Kind() == ejson.String }
	if text(r.Low) && id < r.Low.Text() {
		return false
	}
	return r.High.Kind() == ejson.Invalid || text(r.High) && id <= r.High.Text()
}

// What a condition takes in memory while a query with it is planned and run, and a value in it or
// in a list of fields, in bytes.
const (
	conditionSize = 1000
	valueSize     = 150
)

// Size is about the most memory that the selector, the fields and the sort in a request take, its
// patterns included, in bytes.
func Size(request ejson.Value) int64 {
	values, members := request.Count()
	return conditionSize*int64(members) + valueSize*int64(values) + PatternSize(request)
}

// PatternSize is about the most memory that the patterns in a request take, in bytes.
func PatternSize(v ejson.Value) (bytes int64) {
	switch v.Kind() {
	case ejson.Object:
		for name, arg := range v.Members() {
			if arg.Kind() == ejson.String {
				if name.TextIs("$regex") {
					bytes += pcre.Size(arg.Text())
				}
				continue
			}
			bytes += PatternSize(arg)
		}
	case ejson.Array:
		for e := range v.Elements() {
			bytes += PatternSize(e)
		}
	}
	return bytes
}

// Empty reports whether this is the selector without conditions.
func (s *Selector) Empty() bool { return s.Root == nil }

// AppendJSON appends the normal form, as _explain shows it.
func (s *Selector) AppendJSON(dst []byte) []byte {
	if s.Root == nil {
		return append(dst, "{}"...)
	}
	return s.Root.appendJSON(dst)
}

// Match reports whether a document passes: doc is the JSON object with _id, _rev and all else that
// a client would see. Errors are those of field names that cannot be read and of $mod by 0; see the
// package's invariants.
func (s *Selector) Match(doc ejson.Value) (bool, error) {
	if s.Root == nil {
		return true, nil
	}
	if s.ids != nil && !s.ids.hasID(doc) {
		return false, nil
	}
	return s.Root.match(doc, false)
}

// OnlyMeta reports whether all conditions are on the fields _id, _rev and _deleted, so that Match
// does not look at others.
func (s *Selector) OnlyMeta() bool { return s.Root == nil || s.Root.onlyMeta() }

// Members are the members of bodies that Match looks at, their names in JSON; nil: all of them.
func (s *Selector) Members() [][]byte { return InBodies(MembersOf(s.Paths())) }

// Backtracks returns the first $regex that needs the backtracking engine, nil if there is none.
func (s *Selector) Backtracks() *Condition {
	if s.Root == nil {
		return nil
	}
	return s.Root.backtracks()
}

// backtracks finds the first $regex, in the order of the tree, that needs the backtracking engine.
func (c *Condition) backtracks() *Condition {
	if c.Op == OpRegex && c.pattern.Backtracks() {
		return c
	}
	for _, kid := range c.Kids {
		if found := kid.backtracks(); found != nil {
			return found
		}
	}
	return nil
}

// onlyMeta reports whether nothing but id, revision and deletion is looked at: then documents need
// not be read.
func (c *Condition) onlyMeta() bool {
	switch c.Op {
	case OpField:
		return c.Name == "_id" || c.Name == "_rev" || c.Name == "_deleted"
	case OpAnd, OpOr, OpNot:
		for _, kid := range c.Kids {
			if !kid.onlyMeta() {
				return false
			}
		}
		return true
	}
	return false
}
