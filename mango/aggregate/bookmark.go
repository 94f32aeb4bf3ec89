package aggregate

import (
	"bytes"
	"encoding/base64"
	"strconv"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
)

// place is where a group stands in the order of the answer.
type place struct {
	terms []keyOf // of Request.order; unused where the term is the key
	key   keyOf
}

// compare orders places: by the terms of the order, and then by key.
func (r *Request) compare(a, b *place) int {
	for i, term := range r.order {
		x, y := a.terms[i].sortable, b.terms[i].sortable
		if term.value == keyTerm {
			x, y = a.key.sortable, b.key.sortable
		}
		if c := bytes.Compare(x, y); c != 0 {
			if term.descending {
				return -c
			}
			return c
		}
	}
	return bytes.Compare(a.key.sortable, b.key.sortable)
}

// A bookmark is base64url of a JSON array: a text of what is asked that decides the order, the key
// of the group, and the values that it is ordered by, in their order.

// form is the text by which a bookmark is bound to its request: with another request it is refused.
func (r *Request) form() string {
	var b []byte
	for i := range r.groups {
		g := &r.groups[i]
		b = strconv.AppendInt(ejson.AppendString(b, g.name), int64(g.prefix), 10)
		if g.floor.Kind() != ejson.Invalid {
			b = g.floor.AppendJSON(append(b, '/'))
		}
	}
	for _, term := range r.order {
		b = strconv.AppendBool(append(b, ' '), term.descending)
		if term.value != keyTerm {
			a := &r.values[term.value]
			b = append(b, a.op...)
			if a.op != countOp {
				b = ejson.AppendString(b, r.fields[a.field])
			}
		}
	}
	return string(b)
}

// bookmark is the text of a place: the request's form, the group's key, and the values that the
// order compares before it.
func (r *Request) bookmark(p *place) string {
	b := ejson.AppendString([]byte{'['}, r.form())
	b = append(append(b, ','), p.key.json...)
	for i, term := range r.order {
		if term.value != keyTerm {
			b = append(append(b, ','), p.terms[i].json...)
		}
	}
	return base64.RawURLEncoding.EncodeToString(append(b, ']'))
}

// parseBookmark reads a bookmark of this request.
func (r *Request) parseBookmark(v ejson.Value) (*place, error) {
	invalid := bad("invalid_bookmark", "Invalid bookmark value: "+text(v))
	if v.Kind() != ejson.String {
		return nil, invalid
	}
	raw, err := base64.RawURLEncoding.DecodeString(v.Text())
	if err != nil {
		return nil, invalid
	}
	list, err := ejson.Parse(raw)
	if err != nil || list.Kind() != ejson.Array {
		return nil, invalid
	}
	elements := list.Children()
	form, _ := elements.Next()
	key, _ := elements.Next()
	if form.Kind() != ejson.String || !form.TextIs(r.form()) ||
		key.Kind() != ejson.Array || key.Len() != len(r.groups) {
		return nil, invalid
	}
	p := &place{key: keyOf{json: key.AppendJSON(nil)}, terms: make([]keyOf, len(r.order))}
	for e := range key.Elements() {
		p.key.sortable = collate.AppendKey(p.key.sortable, e)
	}
	for i, term := range r.order {
		if term.value == keyTerm {
			continue
		}
		e, ok := elements.Next()
		if !ok {
			return nil, invalid
		}
		p.terms[i] = keyOf{sortable: collate.AppendKey(nil, e), json: e.AppendJSON(nil)}
	}
	if _, more := elements.Next(); more {
		return nil, invalid
	}
	return p, nil
}
