package mango

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
)

// members are what is left of a request's object while its options are read one after another, in
// the order of CouchDB (mango_opts:validate/2). The first fault stays in err; after it nothing is
// read.
type members struct {
	object ejson.Value
	// Names that some option has asked for, given or not: what is left in the end is unknown to
	// CouchDB and refused.
	known map[string]bool
	err   error
}

func newMembers(object ejson.Value) *members {
	return &members{object: object, known: make(map[string]bool)}
}

// take gives a member, if there is one and nothing was wrong so far.
func (m *members) take(name string) (v ejson.Value, ok bool) {
	m.known[name] = true
	// The name counts as known even after a fault, though finish does not come to that then.
	if m.err != nil {
		return v, false
	}
	return m.object.Get(name)
}

// require is take for members that must be there.
func (m *members) require(name string) (v ejson.Value, ok bool) {
	if v, ok = m.take(name); !ok && m.err == nil {
		m.err = compat.Named(compat.KindBadRequest, "missing_required_key", "Missing required key: "+name)
	}
	return v, ok
}

// finish tells what was wrong: the first fault, or the first member that nobody asked for.
func (m *members) finish() error {
	if m.err != nil {
		return m.err
	}
	for name := range m.object.Members() {
		if text := name.Text(); !m.known[text] {
			return compat.Named(compat.KindBadRequest, "invalid_key", "Invalid key "+text+" for this request.")
		}
	}
	return nil
}

// boolean reads an option that has to be true or false, and leaves value as it is where the option
// is not given.
func (m *members) boolean(name string, value *bool) {
	v, ok := m.take(name)
	if !ok {
		return
	}
	if *value, ok = v.Bool(); !ok {
		m.err = compat.Named(compat.KindBadRequest, "invalid_boolean", "Invalid boolean value: "+term(v))
	}
}

// number is a count of any size: n is what the server can use of it.
//
// Erlang's integers have no bound, so that a request may say 10^30; text is what answers of
// _explain show of it.
type number struct {
	n    int64
	text string
}

// integer reads a number that is at least 1, or 0.
func (m *members) integer(name string, positive bool, value *number) {
	v, ok := m.take(name)
	if !ok {
		return
	}
	if n, ok := countOf(v); ok && !(positive && n.n == 0) {
		*value = n
		return
	}
	word, reason := "invalid_non_neg_integer", " is not an integer greater than or equal to zero"
	if positive {
		word, reason = "invalid_pos_integer", " is not an integer greater than zero"
	}
	m.err = compat.Named(compat.KindBadRequest, word, term(v)+reason)
}

// countOf reads an integer that is not negative; those beyond 64 bits count as the greatest.
func countOf(v ejson.Value) (c number, ok bool) {
	if v.Kind() != ejson.Int {
		return c, false
	}
	big := v.BigInt()
	if big.Sign() < 0 {
		return c, false
	}
	c = number{n: 1<<63 - 1, text: big.String()}
	if big.IsInt64() {
		c.n = big.Int64()
	}
	return c, true
}

// text reads a string; with filled it must not be empty.
func (m *members) text(name string, filled bool, value *string) (given bool) {
	v, ok := m.take(name)
	switch {
	case !ok:
		return false
	case v.Kind() != ejson.String:
		m.err = compat.Named(compat.KindBadRequest, "invalid_string", "Invalid string: "+term(v))
	case filled && v.TextIs(""):
		m.err = compat.Named(compat.KindBadRequest, "invalid_empty_string", "Index name or ddoc cannot be empty string")
	default:
		*value = v.Text()
	}
	return m.err == nil
}

// selector reads a selector with the names of CouchDB 3.5 or 3.6.
func (m *members) selector(v ejson.Value, follows36 bool) *selector.Selector {
	if v.Kind() != ejson.Object {
		m.err = compat.Named(compat.KindBadRequest, "invalid_selector_json",
			"Selector must be a JSON object, not: "+term(v))
		return nil
	}
	parse := selector.ParseSelector35
	if follows36 {
		parse = selector.ParseSelector
	}
	s, err := parse(v)
	m.err = err
	return s
}

// errNoClause is what CouchDB answers to a fault it has no text for (mango_error:info/2, last
// clause).
func errNoClause(module, word string, v ejson.Value) error {
	return compat.NewError(compat.KindUnknown, "Unknown Error: "+module+" :: {"+word+","+term(v)+"}")
}
