package functions

import (
	"errors"
	"slices"
	"strings"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/forward"
)

// Handlers serve the functions of a registry.
type Handlers struct {
	userFunctions
	engine Engine
	nodes  *forward.Nodes
}

// New makes the handlers; the others are asked about debug sessions that they have, and answer requests to
// functions of which this process has no share.
func New(r *registry.Registry, e Engine, others *forward.Nodes) *Handlers {
	return &Handlers{userFunctions{r}, e, others}
}

// methods are the handlers of a path by method.
type methods map[string]call.Handler

// serve makes the handler of a path: errors become envelopes, and so do methods that the path does
// not have.
func (m methods) serve(c *call.Call) error {
	handle, ok := m[c.MethodName()]
	if !ok {
		allowed := make([]string, 0, len(m))
		for name := range m {
			allowed = append(allowed, name)
		}
		slices.Sort(allowed)
		list := strings.Join(allowed, ", ")
		c.SetHeader("Allow", list)
		return fail(c, definition.Errorf(definition.CodeMethodNotAllowed, "Only %s", list))
	}
	return fail(c, handle(c))
}

// nameSegment is where the name of a function is in paths: /_eventing/api/v1/functions/{name}.
const nameSegment = 4

// pathRef is the function that the path names, in the scope of the query.
func pathRef(c *call.Call) (definition.Ref, error) { return newRef(c, c.Segment(nameSegment)) }

// queryRef is the function that the query names: name, or appName in older clients.
func queryRef(c *call.Call) (definition.Ref, error) {
	for _, parameter := range []string{"name", "appName"} {
		if name, ok := c.Query.First(parameter); ok && name != "" {
			return newRef(c, name)
		}
	}
	return definition.Ref{}, definition.Errorf(definition.CodeInvalidRequest, "The query has no name")
}

// newRef names a function by the path and by the scope of the query.
func newRef(c *call.Call, name string) (definition.Ref, error) {
	scope, err := queryScope(c)
	return definition.Ref{Scope: scope, Name: name}, err
}

// queryScope is the scope that the query names, else the global one.
func queryScope(c *call.Call) (definition.Scope, error) {
	bucket, _ := c.Query.First("bucket")
	scope, _ := c.Query.First("scope")
	return definition.NewScope(bucket, scope)
}

// givenScope is the scope that the query names, the zero one where it names none.
func givenScope(c *call.Call) (definition.Scope, error) {
	if _, ok := c.Query.First("bucket"); !ok {
		return definition.Scope{}, nil
	}
	return queryScope(c)
}

// attempts is how often a change is tried that others are always faster than.
const attempts = 10

// retried makes a change again when the record was changed by others since it was looked at.
func retried(change func() error) error {
	for range attempts {
		if err := change(); !errors.Is(err, registry.ErrChanged) {
			return err
		}
	}
	return definition.Errorf(definition.CodeInvalidRequest, "The function is being changed. Try again later")
}
