package mango

import (
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
)

// appendJSON appends the ways that an index over all fields, and those beside it, offer, with what each would read.
func (c *course) appendJSON(dst []byte) []byte {
	dst = appendBool(append(dst, `{"ready":`...), c.ready)
	dst = append(dst, `,"ways":[`...)
	for i := range c.ways {
		if i > 0 {
			dst = append(dst, ',')
		}
		w := &c.ways[i]
		dst = w.appendName(append(dst, '{'))
		if w.access != nil {
			dst = strconv.AppendInt(append(dst, `,"ranges":`...), int64(w.access.width()), 10)
		}
		dst = appendBool(append(dst, `,"sorted":`...), w.sorted)
		dst = strconv.AppendInt(append(dst, `,"estimate":`...), w.n, 10)
		dst = appendBool(append(dst, `,"exact":`...), w.exact)
		dst = append(appendBool(append(dst, `,"chosen":`...), w.chosen), '}')
	}
	dst = append(dst, ']')
	if c.budget > 0 {
		dst = strconv.AppendInt(append(dst, `,"sorts_after":`...), c.budget, 10)
	}
	return append(dst, '}')
}

// appendName appends the members that tell a way: its index, and of an index over all fields the field, or the fields
// of the branches of an $or.
func (w *way) appendName(dst []byte) []byte {
	dst = append(append(append(dst, `"type":"`...), w.index.Kind.String()...), '"')
	if w.index.Kind != KindAllDocs {
		dst = ejson.AppendString(append(dst, `,"ddoc":`...), w.index.DDoc)
		dst = ejson.AppendString(append(dst, `,"name":`...), w.index.Name)
	}
	switch {
	case w.access == nil:
	case len(w.access.fields) == 1:
		dst = ejson.AppendString(append(dst, `,"field":`...), w.access.fields[0])
	default:
		dst = ejson.AppendStrings(append(dst, `,"fields":`...), w.access.fields)
	}
	return dst
}

// note adds what is read to the statistics; how is what for: "order" for the rows in the order of the answer, "sort" for
// documents that are sorted.
func (f *finder) note(w *way, how string) {
	ways := f.stats.Ways
	if len(ways) > 0 {
		ways = append(ways, ',')
	}
	ways = w.appendName(append(ways, '{'))
	f.stats.Ways = append(ejson.AppendString(append(ways, `,"read_for":`...), how), '}')
}

// noteChosen notes what is read first.
func (f *finder) noteChosen() {
	c := &f.course
	switch {
	case f.plan.text != nil:
	case f.plan.best(KindAllFields) == nil && f.plan.index.Kind != KindAllFields:
	case c.filter != nil && c.budget == 0:
		f.note(&way{index: f.best(), access: c.filter}, "sort")
	case c.sorted && c.access == nil:
		f.note(&way{index: f.plan.allDocs()}, "sort")
	default:
		f.note(&way{index: c.index, access: c.access}, "order")
	}
}
