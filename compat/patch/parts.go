package patch

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
)

// The errors of operations on parts of a document; their meanings are Couchbase's.
var (
	ErrPathNotFound = errors.New("patch: there is nothing at the path")
	ErrPathExists   = errors.New("patch: there is something at the path")
	ErrPathMismatch = errors.New("patch: a value of another kind is where the path leads")
	ErrPathInvalid  = errors.New("patch: the path is not valid for the operation")
)

// maxSteps is how many steps a path may have, as in Couchbase.
const maxSteps = 32

// Parts are the values in a JSON text by Couchbase's paths: names with dots between them and
// positions in brackets, a.b[0].c; [-1] is the last one, and a name in backticks may have any
// character. The empty path is the whole text. Values that no operation touches keep their text.
// Parts are for one goroutine at a time.
type Parts struct{ a applier }

// PartOperation changes a part, as the functions of couchbase.MutateInSpec say.
type PartOperation struct {
	// Name is insert, upsert, replace, remove, arrayAppend, arrayPrepend, arrayInsert,
	// arrayAddUnique, or increment, which adds to a number and takes one that is missing for 0.
	Name, Path string
	Value      []byte // JSON; unused by remove
	Creates    bool   // create objects that are missing on the path
}

// OpenParts reads a JSON text, which Parts refer to. The error is compat.ErrInvalidJSON.
func OpenParts(text []byte) (*Parts, error) {
	v, err := canonical(text)
	return &Parts{applier{tree: tree{known: make(map[ejson.Value]*children)}, root: leaf(v)}}, err
}

// Text is the text of the whole as the operations have left it.
func (p *Parts) Text() []byte { return p.a.root.appendJSON(make([]byte, 0, p.a.root.size)) }

// Find gives the text of the value at a path, which must not be changed.
func (p *Parts) Find(path string) (text []byte, ok bool) {
	steps, ok := parsePath(path)
	if !ok {
		return nil, false
	}
	n, _, left, err := p.walk(steps)
	if err != nil || len(left) > 0 {
		return nil, false
	}
	if !n.changed {
		return n.value.Raw(), true
	}
	return n.appendJSON(nil), true
}

// Apply does an operation. Its errors are those above, and compat.ErrInvalidJSON for a value that is
// none; nothing has changed then.
func (p *Parts) Apply(o PartOperation) error {
	steps, ok := parsePath(o.Path)
	toArray := o.Name == "arrayAppend" || o.Name == "arrayPrepend" || o.Name == "arrayAddUnique"
	if !ok || len(steps) == 0 && !toArray && o.Name != "increment" {
		return ErrPathInvalid
	}
	var value ejson.Value
	if o.Name != "remove" {
		var err error
		if value, err = canonical(o.Value); err != nil {
			return err
		}
	}
	n, way, left, err := p.walk(steps)
	switch {
	case err != nil:
		return err
	case len(left) > 1 || toArray && len(left) == 1:
		return p.create(&o, way, left, value, toArray)
	case toArray:
		return p.addTo(n, way, o.Name, value)
	case o.Name == "increment" && len(left) == 0:
		sum, ok := increment(n.value, value)
		if !ok {
			return ErrPathMismatch
		}
		return p.a.replace(way, leaf(sum))
	}
	return p.change(o.Name, n, way, steps[len(steps)-1], left, leaf(value))
}

// walk goes along the steps as far as there are values. It gives the last of these, the pointer to
// it, and the steps that are left, the first of which names no value.
func (p *Parts) walk(steps []step) (n *node, way Pointer, left []step, err error) {
	n = p.a.root
	for i, s := range steps {
		wanted := ejson.Object
		if s.isPosition {
			wanted = ejson.Array
		}
		if n.kind() != wanted {
			return nil, nil, nil, ErrPathMismatch
		}
		n = p.a.tree.open(n)
		token := s.name
		if s.isPosition && s.position < 0 {
			token = strconv.Itoa(n.count - 1)
		}
		at, found := n.find(token)
		if !found {
			return n, way, steps[i:], nil
		}
		way = append(way, token)
		_, n = n.child(at)
	}
	return n, way, nil, nil
}

// create puts a value where objects are missing on the way to it, or the array that it is for.
func (p *Parts) create(o *PartOperation, way Pointer, left []step, value ejson.Value, toArray bool) error {
	if !o.Creates || left[0].isPosition || slices.Contains([]string{"replace", "remove", "arrayInsert"}, o.Name) {
		return ErrPathNotFound
	}
	if o.Name == "arrayAddUnique" && isContainer(value) {
		return ErrPathMismatch
	}
	text := value.Raw()
	if toArray {
		text = slices.Concat([]byte{'['}, text, []byte{']'})
	}
	for _, s := range slices.Backward(left[1:]) {
		if s.isPosition {
			return ErrPathMismatch
		}
		text = slices.Concat([]byte{'{'}, ejson.AppendString(nil, s.name), []byte{':'}, text, []byte{'}'})
	}
	made, err := canonical(text)
	if err != nil {
		return err
	}
	return p.a.add(append(way, left[0].name), leaf(made))
}

// addTo adds an element at an end of the array at the end of the way.
func (p *Parts) addTo(n *node, way Pointer, operation string, value ejson.Value) error {
	if n.kind() != ejson.Array {
		return ErrPathMismatch
	}
	token := "-"
	switch operation {
	case "arrayPrepend":
		token = "0"
	case "arrayAddUnique":
		if isContainer(value) {
			return ErrPathMismatch
		}
		exists, err := p.a.tree.open(n).hasScalar(value)
		if err != nil {
			return err
		}
		if exists {
			return ErrPathExists
		}
	}
	return p.a.add(append(way, token), leaf(value))
}

// hasScalar reports whether an opened array has a value that is neither array nor object;
// ErrPathMismatch if it has one of those.
func (n *node) hasScalar(value ejson.Value) (found bool, err error) {
	look := func(v ejson.Value) error {
		if isContainer(v) {
			return ErrPathMismatch
		}
		found = found || equalValues(v, value)
		return nil
	}
	for i := range n.parts {
		p := &n.parts[i]
		if p.node != nil {
			if err := look(p.node.value); err != nil {
				return false, err
			}
			continue
		}
		for number := p.from; number < p.to; number++ {
			if err := look(n.base.value(number)); err != nil {
				return false, err
			}
		}
	}
	return found, nil
}

func isContainer(v ejson.Value) bool { return v.Kind() == ejson.Array || v.Kind() == ejson.Object }

// change does the operations on one member or element, the last step. n is the value itself or, if
// a step is left, the container that lacks it.
func (p *Parts) change(operation string, n *node, way Pointer, last step, left []step, value *node) error {
	missing := len(left) > 0
	switch operation {
	case "insert":
		if last.isPosition {
			return ErrPathMismatch
		}
		if !missing {
			return ErrPathExists
		}
	case "arrayInsert":
		if !last.isPosition || last.position < 0 {
			return ErrPathInvalid
		}
		if missing && last.position > n.count {
			return ErrPathNotFound
		}
		if !missing {
			way = way[:len(way)-1]
		}
		return p.a.add(append(way, strconv.Itoa(last.position)), value)
	case "replace", "remove":
		if missing {
			return ErrPathNotFound
		}
		if operation == "remove" {
			return p.a.remove(way)
		}
	}
	if !missing {
		return p.a.replace(way, value)
	}
	if last.isPosition {
		return ErrPathNotFound
	}
	return p.a.add(append(way, last.name), value)
}

// step is one of a path: a name, or a position.
type step struct {
	name       string // of a position its digits
	position   int    // -1 is the last one
	isPosition bool
}

// parsePath reads a path; ok is false if it is none.
func parsePath(path string) (steps []step, ok bool) {
	for rest := path; rest != ""; {
		var s step
		if rest[0] == '[' {
			s, rest, ok = parsePosition(rest)
		} else {
			s.name, rest, ok = parseName(rest)
		}
		if !ok || len(steps) == maxSteps {
			return nil, false
		}
		steps = append(steps, s)
		if rest == "" || rest[0] == '[' {
			continue
		}
		if rest = rest[1:]; rest == "" || rest[0] == '[' { // behind a dot
			return nil, false
		}
	}
	return steps, true
}

// parsePosition reads a position of up to nine digits at the beginning of a path.
func parsePosition(path string) (s step, rest string, ok bool) {
	s.name, rest, ok = strings.Cut(path[1:], "]")
	s.isPosition = true
	if s.name == "-1" {
		s.position = -1
	} else if s.position, _ = index(s.name); strconv.Itoa(s.position) != s.name || len(s.name) > 9 {
		return s, rest, false
	}
	return s, rest, ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// parseName reads a name at the beginning of a path. Two backticks in a part that is in backticks
// are one of the name.
func parseName(path string) (name, rest string, ok bool) {
	var b strings.Builder
	quoted, begun := false, false
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '`' && quoted && strings.HasPrefix(path[i+1:], "`"):
			i++
			b.WriteByte(c)
		case c == '`':
			quoted, begun = !quoted, true
		case quoted:
			b.WriteByte(c)
		case c == '.' || c == '[':
			return b.String(), path[i:], begun
		case c == ']':
			return "", "", false
		default:
			b.WriteByte(c)
			begun = true
		}
	}
	return b.String(), "", begun && !quoted
}
