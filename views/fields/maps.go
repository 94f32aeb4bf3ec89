package fields

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/settee-db/settee/compat/ejson"
)

// Map is a map function of a design document with the views that have it.
type Map struct {
	Source        string   // its text; of what is no text the JSON
	JSON, Options []byte   // as they are there; Options is nil if there are none
	Reduces       []Reduce // of the views with reduce functions, the last one first
	names         []string // of the others, likewise
}

// Reduce is the reduce function of a view.
type Reduce struct{ View, Source string }

// Maps gives the distinct map functions of the views of a design document, in the order in which
// CouchDB compiles them (couch_mrview_util:ddoc_to_mrst).
func Maps(ddoc ejson.Value) []*Map {
	views, _ := ddoc.Get("views")
	var maps []*Map
	for name, view := range views.Members() {
		source, ok := view.Get("map")
		if !ok {
			continue
		}
		m := &Map{Source: source.Text(), JSON: source.AppendJSON(nil)}
		if source.Kind() != ejson.String {
			m.Source = string(m.JSON)
		}
		if options, ok := view.Get("options"); ok {
			m.Options = options.AppendJSON(nil)
		}
		same := func(o *Map) bool { return o.Source == m.Source && bytes.Equal(o.Options, m.Options) }
		if at := slices.IndexFunc(maps, same); at >= 0 {
			m = maps[at]
		} else {
			maps = append(maps, m)
		}
		if r, ok := view.Get("reduce"); ok {
			m.Reduces = slices.Insert(m.Reduces, 0, Reduce{name.Text(), r.Text()})
		} else {
			m.names = slices.Insert(m.names, 0, name.Text())
		}
	}
	slices.SortStableFunc(maps, func(a, b *Map) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), bytes.Compare(a.Options, b.Options))
	})
	return maps
}

// View is the view that errors of the map function name.
func (m *Map) View() string {
	if len(m.names) > 0 {
		return m.names[0]
	}
	return m.Reduces[0].View
}
