package mango

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/pcre"
)

// maxDepth bounds the levels of conditions, and with it the recursion over them.
const maxDepth = 1000

// Selector is a parsed selector in normal form. It is immutable.
type Selector struct {
	root *condition // nil for the empty selector, which all documents pass
	// collated says that ids are compared by collation, and ids is the range that they have to be
	// in by their bytes, nil for none: see collateIDs.
	collated bool
	ids      *fieldRange
}

// ParseSelector reads a selector, which must be an object, and brings it into normal form: several
// members become $and, a bare value $eq, nested fields are joined with dots, field names and
// negations are pushed down to the operators (mango_selector:normalize/1). Errors are compat.Errors
// with Mango's error word and reason.
func ParseSelector(v ejson.Value) (*Selector, error) {
	return parseSelector(v, func(c *condition) *condition { return c })
}

// parseNormal is ParseSelector for what may be a normal form that was stored: there a condition on
// an element itself has the name "", which clients may not write.
func parseNormal(v ejson.Value) (*Selector, error) {
	return parseSelector(v, (*condition).withoutNoName)
}

func parseSelector(v ejson.Value, prepare func(*condition) *condition) (*Selector, error) {
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
	if c, err = pushFields(prepare(c), ""); err != nil {
		return nil, err
	}
	if c, err = resolveNegations(c); err != nil {
		return nil, err
	}
	if c.op == opField && c.name == "" {
		return nil, errMissingFieldName
	}
	return &Selector{root: c}, nil
}

// collateIDs has ids compared by collation, as other strings are, and within the range of the
// selector by their bytes, too: CouchDB 3.6 reads that range from the documents, and then compares.
// There a query that an index of another field answers is not held to the range; here every index
// gives the same answer.
func (s *Selector) collateIDs() {
	if s.root == nil {
		return
	}
	s.root.collateIDs()
	s.collated = true
	ranges := s.ranges()
	if i := slices.IndexFunc(ranges, func(r fieldRange) bool { return r.field == "_id" }); i >= 0 {
		s.ids = &ranges[i]
	}
}

func (c *condition) collateIDs() {
	c.inBytes = false
	for _, kid := range c.kids {
		kid.collateIDs()
	}
}

// hasID reports whether the id of a document is in the range by its bytes, ends included.
func (r *fieldRange) hasID(doc ejson.Value) bool {
	value, _ := doc.Get("_id")
	id := value.Text()
	low, _ := idBound(r.low)
	high, some := idBound(r.high)
	return some && !(low.Set && id < low.ID) && !(high.Set && id > high.ID)
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

// maxFilter bounds the Size of a partial index's selector: those of all databases in use stay in
// memory, and each write of a document goes through it. CouchDB has no bound.
const maxFilter = 1 << 20

var errFilterTooLarge = compat.Named(compat.KindBadRequest, "invalid_partial_filter_selector",
	"partial_filter_selector has too many conditions")

func checkFilterSize(filter ejson.Value) error {
	if Size(filter) > maxFilter {
		return errFilterTooLarge
	}
	return nil
}

// Empty reports whether this is the selector without conditions.
func (s *Selector) Empty() bool { return s.root == nil }

// AppendJSON appends the normal form, as _explain shows it.
func (s *Selector) AppendJSON(dst []byte) []byte {
	if s.root == nil {
		return append(dst, "{}"...)
	}
	return s.root.appendJSON(dst)
}

// Match reports whether a document passes: doc is the JSON object with _id, _rev and all else that
// a client would see. Errors are those of field names that cannot be read and of $mod by 0; see the
// package's invariants.
func (s *Selector) Match(doc ejson.Value) (bool, error) {
	if s.root == nil {
		return true, nil
	}
	if s.ids != nil && !s.ids.hasID(doc) {
		return false, nil
	}
	return s.root.match(doc, false)
}

// OnlyMeta reports whether all conditions are on the fields _id, _rev and _deleted, so that Match
// does not look at others.
func (s *Selector) OnlyMeta() bool { return s.root == nil || s.root.onlyMeta() }

// backtracks returns the first $regex that needs the backtracking engine, nil if there is none.
func (s *Selector) backtracks() *condition {
	if s.root == nil {
		return nil
	}
	return s.root.backtracks()
}

func (c *condition) backtracks() *condition {
	if c.op == opRegex && c.pattern.Backtracks() {
		return c
	}
	for _, kid := range c.kids {
		if found := kid.backtracks(); found != nil {
			return found
		}
	}
	return nil
}

func (c *condition) onlyMeta() bool {
	switch c.op {
	case opField:
		return c.name == "_id" || c.name == "_rev" || c.name == "_deleted"
	case opAnd, opOr, opNot:
		for _, kid := range c.kids {
			if !kid.onlyMeta() {
				return false
			}
		}
		return true
	}
	return false
}
