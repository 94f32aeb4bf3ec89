package patch

import (
	"fmt"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// operation is one of a JSON Patch.
type operation struct {
	name       string
	path, from Pointer
	value      ejson.Value // canonical
}

// takes lists the operations, each with the member that it needs besides its path.
var takes = map[string]string{
	"add": "value", "remove": "", "replace": "value", "move": "from", "copy": "from", "test": "value",
	"increment": "value",
}

// parseOperations reads a JSON Patch (RFC 6902); the error names the operation by its number.
func parseOperations(list ejson.Value) (*Patch, error) {
	if list.Len() > MaxOperations {
		return nil, compat.Errorf(compat.KindBadRequest, "a patch has at most %d operations", MaxOperations)
	}
	p := &Patch{operations: make([]operation, 0, list.Len())}
	for v := range list.Elements() {
		o, err := parseOperation(v)
		if err != nil {
			return nil, compat.Errorf(compat.KindBadRequest, "operation %d: %s", len(p.operations), reason(err))
		}
		if err := o.checkSpecial(); err != nil {
			return nil, err
		}
		p.operations = append(p.operations, o)
	}
	return p, nil
}

// reason returns the reason of a compat.Error.
func reason(err error) string {
	if e, ok := compat.AsError(err); ok {
		return e.Reason
	}
	return err.Error()
}

// parseOperation reads an operation: which members it needs depends on its name, and other members
// are ignored.
func parseOperation(v ejson.Value) (o operation, err error) {
	if v.Kind() != ejson.Object {
		return o, compat.NewError(compat.KindBadRequest, "it is not an object")
	}
	if o.name, err = text(v, "op"); err != nil {
		return o, err
	}
	needs, known := takes[o.name]
	if !known {
		return o, compat.NewError(compat.KindBadRequest, "there is no operation "+short(o.name))
	}
	if o.path, err = pointer(v, "path"); err != nil {
		return o, err
	}
	switch needs {
	case "value":
		value, given := v.Get("value")
		if !given {
			return o, compat.NewError(compat.KindBadRequest, "the member value is missing")
		}
		if o.value, err = canonicalValue(value); err != nil {
			return o, err
		}
		if o.name == "increment" && !isNumber(value) {
			return o, compat.NewError(compat.KindBadRequest, "the member value is not a number")
		}
	case "from":
		if o.from, err = pointer(v, "from"); err != nil {
			return o, err
		}
		if o.name == "move" && len(o.from) < len(o.path) && slices.Equal(o.from, o.path[:len(o.from)]) {
			return o, compat.NewError(compat.KindBadRequest, "a value cannot be moved into itself")
		}
	}
	return o, nil
}

func pointer(v ejson.Value, member string) (Pointer, error) {
	s, err := text(v, member)
	if err != nil {
		return nil, err
	}
	return ParsePointer(s)
}

// text reads a member that has to be a string.
func text(v ejson.Value, member string) (string, error) {
	s, _ := v.Get(member)
	if s.Kind() != ejson.String {
		return "", compat.Errorf(compat.KindBadRequest, "the member %s is missing or not a string", member)
	}
	return s.Text(), nil
}

// checkSpecial refuses operations on special members, except a test of _rev, a change of _deleted
// to true or false, and the removal of an attachment.
func (o *operation) checkSpecial() error {
	if len(o.from) > 0 && isSpecial(o.from[0]) {
		return badMember(o.from[0])
	}
	if len(o.path) == 0 || !isSpecial(o.path[0]) {
		return nil
	}
	_, isBool := o.value.Bool()
	switch {
	case o.path[0] == "_rev" && len(o.path) == 1 && o.name == "test":
	case o.path[0] == "_deleted" && len(o.path) == 1 && isBool && (o.name == "add" || o.name == "replace"):
	case o.path[0] == "_attachments" && len(o.path) == 2 && o.name == "remove":
	default:
		return badMember(o.path[0])
	}
	return nil
}

// failed is the error of an operation that cannot be done.
func failed(number int, format string, args ...any) error {
	return compat.Named(compat.KindBadRequest, "patch_failed",
		fmt.Sprintf("operation %d: ", number)+fmt.Sprintf(format, args...))
}
