package patch

import (
	"errors"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// applier applies the operations of a patch to one document, one after the other.
type applier struct {
	t      *Target
	tree   tree
	root   *node
	number int // of the operation
	special
}

// errNothing is the error of a pointer that names no value.
var errNothing = errors.New("patch: there is nothing at the pointer")

// applyOperations carries operations out one after the other on a tree that opens only what they
// touch. Size and depth are checked after each, so that the next one never works on more than a
// document may have.
func (p *Patch) applyOperations(t *Target, body ejson.Value) (*Result, error) {
	a := applier{t: t, tree: tree{known: make(map[ejson.Value]*children)}, root: leaf(body)}
	for i := range p.operations {
		a.number = i
		if err := a.apply(&p.operations[i]); err != nil {
			return nil, err
		}
		if t.Limit > 0 && a.root.size > t.Limit {
			return nil, compat.NewError(compat.KindDocumentTooLarge, t.ID)
		}
		if a.root.depth > MaxDepth {
			return nil, failed(i, "it nests values more than %d levels deep", MaxDepth)
		}
	}
	if a.root.kind() != ejson.Object {
		return nil, compat.ErrDocNotAnObject
	}
	result := &Result{Body: a.root.appendJSON(make([]byte, 0, a.root.size))}
	a.special.applyTo(result)
	return result, nil
}

// apply does one operation.
func (a *applier) apply(o *operation) error {
	if len(o.path) > 0 && isSpecial(o.path[0]) {
		return a.applySpecial(o)
	}
	switch o.name {
	case "add":
		return a.add(o.path, leaf(o.value))
	case "remove":
		return a.remove(o.path)
	case "replace":
		return a.replace(o.path, leaf(o.value))
	case "test":
		n, err := a.get(o.path)
		if err == nil && !n.equal(o.value) {
			err = compat.Errorf(compat.KindConflict, "test %d failed", a.number)
		}
		return err
	case "increment":
		n, err := a.get(o.path)
		if err != nil {
			return err
		}
		sum, ok := increment(n.value, o.value)
		if !ok {
			return failed(a.number, "the value at %s cannot be added to", show(o.path))
		}
		return a.replace(o.path, leaf(sum))
	}
	// The node is shared and not copied: nodes do not change, so that copies of copies cost no
	// memory.
	n, err := a.get(o.from) // move and copy
	if err == nil && o.name == "move" {
		// A value that is moved to where it is would be removed first, and its parent might then be
		// another one.
		if slices.Equal(o.from, o.path) {
			return nil
		}
		err = a.remove(o.from)
	}
	if err != nil {
		return err
	}
	return a.add(o.path, n)
}

// applySpecial does one of the few operations on special members that checkSpecial lets pass.
func (a *applier) applySpecial(o *operation) error {
	switch name := o.path[len(o.path)-1]; o.path[0] {
	case "_rev":
		if !o.value.TextIs(a.t.Rev.String()) {
			return compat.Errorf(compat.KindConflict, "test %d failed", a.number)
		}
	case "_deleted":
		a.deleted, _ = o.value.Bool()
	default: // _attachments
		if a.t.Attached == nil || !a.t.Attached(name) || a.detached[name] {
			return failed(a.number, "there is nothing at %s", show(o.path))
		}
		a.detach(name)
	}
	return nil
}

// show returns a pointer as an error's reason shows it.
func show(p Pointer) string {
	if len(p) == 0 {
		return "the empty pointer"
	}
	return short(p.String())
}

// get finds the value at a pointer; the error names the operation and the pointer.
func (a *applier) get(p Pointer) (*node, error) {
	n := a.root
	for _, token := range p {
		if k := n.kind(); k != ejson.Object && k != ejson.Array {
			return nil, failed(a.number, "there is nothing at %s", show(p))
		}
		n = a.tree.open(n)
		at, ok := n.find(token)
		if !ok {
			return nil, failed(a.number, "there is nothing at %s", show(p))
		}
		_, n = n.child(at)
	}
	return n, nil
}

// change makes the containers on the way to the last token of a pointer anew, the last of them by
// edit.
func (a *applier) change(p Pointer, edit func(parent *node, token string) (*node, error)) error {
	type step struct {
		n  *node
		at place
	}
	steps := make([]step, len(p)-1)
	n := a.root
	for i, token := range p {
		if k := n.kind(); k != ejson.Object && k != ejson.Array {
			return failed(a.number, "there is nothing at %s", show(p[:i+1]))
		}
		n = a.tree.open(n)
		if i == len(p)-1 {
			break
		}
		at, ok := n.find(token)
		if !ok {
			return failed(a.number, "there is nothing at %s", show(p[:i+1]))
		}
		steps[i] = step{n, at}
		_, n = n.child(at)
	}
	made, err := edit(n, p[len(p)-1])
	if errors.Is(err, errNothing) {
		return failed(a.number, "there is nothing at %s", show(p))
	}
	if err != nil {
		return err
	}
	// From the inside out, since each container holds the one made before. Those beside the way
	// stay as they are.
	for i := len(steps) - 1; i >= 0; i-- {
		name, _ := steps[i].n.child(steps[i].at)
		made = steps[i].n.splice(steps[i].at, true, part{name: name, node: made})
	}
	a.root = made
	return nil
}

// setRoot makes a value the document. It has no special members: those are not the patch's.
func (a *applier) setRoot(n *node) error {
	err := n.names(func(name string) error {
		if isSpecial(name) {
			return badMember(name)
		}
		return nil
	})
	if err == nil {
		a.root = n
	}
	return err
}

// add puts a value at a pointer: a member that is there already keeps its place.
func (a *applier) add(p Pointer, value *node) error {
	if len(p) == 0 {
		return a.setRoot(value)
	}
	return a.change(p, func(parent *node, token string) (*node, error) {
		if parent.kind() == ejson.Object {
			at, found := parent.find(token)
			if !found {
				at = place{part: len(parent.parts)}
			}
			return parent.splice(at, found, part{name: ejson.AppendString(nil, token), node: value}), nil
		}
		number, ok := index(token)
		if token == "-" {
			number, ok = parent.count, true
		}
		if !ok || number > parent.count {
			return nil, errNothing
		}
		return parent.splice(parent.element(number), false, part{node: value}), nil
	})
}

// remove, replace and the others change the container that the pointer's last token names a child
// of.
func (a *applier) remove(p Pointer) error {
	if len(p) == 0 {
		return failed(a.number, "a document cannot be removed by the empty pointer")
	}
	return a.change(p, func(parent *node, token string) (*node, error) {
		at, ok := parent.find(token)
		if !ok {
			return nil, errNothing
		}
		return parent.splice(at, true), nil
	})
}

func (a *applier) replace(p Pointer, value *node) error {
	if len(p) == 0 {
		return a.setRoot(value)
	}
	return a.change(p, func(parent *node, token string) (*node, error) {
		at, ok := parent.find(token)
		if !ok {
			return nil, errNothing
		}
		name, _ := parent.child(at)
		return parent.splice(at, true, part{name: name, node: value}), nil
	})
}
