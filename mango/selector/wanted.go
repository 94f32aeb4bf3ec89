package selector

import (
	"bytes"

	"github.com/settee-db/settee/compat/ejson"
)

// wanted is a place in documents that paths lead to or through: a tree of the fields of a list. So
// the text of a document is passed through once, however many fields are looked for in it.
type wanted struct {
	paths    []int              // the numbers of the paths that end here
	below    map[string]*wanted // by names, as they stand in the text of an object
	elements map[int][]*wanted  // those of below whose name is the number of an element
	last     int                // the greatest of these numbers
}

// add adds the path of that number.
func (w *wanted) add(parts []string, number int) {
	for _, part := range parts {
		name := string(ejson.AppendString(nil, part))
		next := w.below[name]
		if next == nil {
			next = new(wanted)
			if w.below == nil {
				w.below = make(map[string]*wanted)
			}
			w.below[name] = next
			w.addElement(part, next)
		}
		w = next
	}
	w.paths = append(w.paths, number)
}

// addElement adds a path below an element, where a part of a path is the number of one. The same
// part may be a member's name as well.
func (w *wanted) addElement(part string, next *wanted) {
	n, ok := elementNumber(part)
	if !ok {
		return
	}
	if w.elements == nil {
		w.elements = make(map[int][]*wanted)
	}
	w.elements[n] = append(w.elements[n], next)
	w.last = max(w.last, n)
}

// find sets the texts of the values that paths lead to in the text of a value, by their numbers.
func (w *wanted) find(text []byte, found [][]byte) {
	for _, path := range w.paths {
		found[path] = text
	}
	if left := len(w.below); left > 0 && bytes.HasPrefix(text, []byte("{")) {
		for name, value := range ejson.TextMembers(text) {
			if next := w.below[string(name)]; next != nil {
				next.find(value, found)
				if left--; left == 0 {
					return
				}
			}
		}
	}
	if len(w.elements) == 0 {
		return
	}
	i := 0
	for element := range ejson.TextElements(text) {
		for _, next := range w.elements[i] {
			next.find(element, found)
		}
		if i++; i > w.last {
			return
		}
	}
}
