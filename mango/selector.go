package mango

import (
	"github.com/settee-db/settee/compat/ejson"
)

// maxDepth bounds the levels of conditions, and with it the recursion over them.
const maxDepth = 1000

// Selector is a parsed selector in normal form. It is immutable.
type Selector struct {
	root *node // nil for the empty selector, which all documents pass
}

// ParseSelector reads a selector, which must be an object, and brings it into normal form: several members become $and, a bare
// value $eq, nested fields are joined with dots, field names and negations are pushed down to the operators
// (mango_selector:normalize/1). Errors are compat.Errors with Mango's error word and reason.
func ParseSelector(v ejson.Value) (*Selector, error) {
	if v.Len() == 0 {
		return new(Selector), nil
	}
	own, err := ejson.Parse(v.AppendJSON(nil))
	if err != nil {
		return nil, err
	}
	n, err := parseNode(own, 0)
	if err != nil {
		return nil, err
	}
	if n, err = pushFields(n, ""); err != nil {
		return nil, err
	}
	if n, err = resolveNegations(n); err != nil {
		return nil, err
	}
	if n.op == opField && n.name == "" {
		return nil, errMissingFieldName
	}
	return &Selector{root: n}, nil
}

// Empty tells whether this is the selector without conditions.
func (s *Selector) Empty() bool { return s.root == nil }

// AppendJSON appends the normal form, as _explain shows it.
func (s *Selector) AppendJSON(dst []byte) []byte {
	if s.root == nil {
		return append(dst, "{}"...)
	}
	return s.root.appendJSON(dst)
}

// Match tells whether a document passes: doc is the JSON object with _id, _rev and all else that a client would see. Errors
// are those of field names that cannot be read and of $mod by 0; see the package's invariants.
func (s *Selector) Match(doc ejson.Value) (bool, error) {
	if s.root == nil {
		return true, nil
	}
	return s.root.match(doc, false)
}

// OnlyMeta tells whether all conditions are on the fields _id, _rev and _deleted, so that Match does not look at others.
func (s *Selector) OnlyMeta() bool { return s.root == nil || s.root.onlyMeta() }

// backtracks returns the first $regex that needs the backtracking engine, nil if there is none. Its matches depend on time, so what
// an index holds must not depend on it.
func (s *Selector) backtracks() *node {
	if s.root == nil {
		return nil
	}
	return s.root.backtracks()
}

func (n *node) backtracks() *node {
	if n.op == opRegex && n.pattern.back != nil {
		return n
	}
	for _, kid := range n.kids {
		if found := kid.backtracks(); found != nil {
			return found
		}
	}
	return nil
}

func (n *node) onlyMeta() bool {
	switch n.op {
	case opField:
		return n.name == "_id" || n.name == "_rev" || n.name == "_deleted"
	case opAnd, opOr, opNot:
		for _, kid := range n.kids {
			if !kid.onlyMeta() {
				return false
			}
		}
		return true
	}
	return false
}
