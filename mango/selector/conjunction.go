package selector

import (
	"strings"

	"github.com/settee-db/settee/compat/ejson"
)

// Conjunction is the list of conditions on single fields that a document must all fulfil.
type Conjunction struct {
	Equal  map[string]ejson.Value // fields that have to equal a value
	Exists map[string]bool        // fields that documents without them do not pass for
}

// Conjunction returns the selector's conditions on single fields. whole is false where the selector
// has other conditions besides.
func (s *Selector) Conjunction() (c Conjunction, whole bool) {
	c = Conjunction{Equal: make(map[string]ejson.Value), Exists: make(map[string]bool)}
	if s.Root == nil {
		return c, true
	}
	kids := []*Condition{s.Root}
	if s.Root.Op == OpAnd {
		kids = s.Root.Kids
	}
	whole = true
	for _, kid := range kids {
		whole = c.add(kid) && whole
	}
	return c, whole
}

// add takes one condition; it reports whether that is all the condition asks. Fields of the server's
// own are compared in another order than that of an index.
func (c *Conjunction) add(cond *Condition) (whole bool) {
	if cond.Op != OpField || !cond.Path.Valid || strings.HasPrefix(cond.Name, "_") {
		return false
	}
	inner := cond.Kids[0]
	if inner.Op == OpExists && !inner.Exists {
		return false
	}
	c.Exists[cond.Name] = true
	if inner.Op != OpEq {
		return inner.Op == OpExists
	}
	_, twice := c.Equal[cond.Name]
	c.Equal[cond.Name] = inner.Arg
	return !twice
}
