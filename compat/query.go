package compat

// Param is one decoded `name=value` of a query string. A name without `=` has an empty value.
type Param struct {
	Name, Value string
}

// Query is a query string in its order. Some options of CouchDB take the first of several equal
// names (First), others the last (Last), others look at every one in turn.
type Query []Param

// ParseQuery reads a raw query: `&` and `;` separate, `+` is a space, names may be empty
// (mochiweb_util:parse_qs). A separator at the very end adds nothing.
func ParseQuery(raw string) Query {
	if raw == "" {
		return nil
	}
	q := make(Query, 0, 4)
	for start := 0; start < len(raw); {
		end, equals := start, -1
		for end < len(raw) && raw[end] != '&' && raw[end] != ';' {
			if raw[end] == '=' && equals < 0 {
				equals = end
			}
			end++
		}
		p := Param{}
		if equals < 0 {
			p.Name = Unquote(raw[start:end], true)
		} else {
			p.Name = Unquote(raw[start:equals], true)
			p.Value = Unquote(raw[equals+1:end], true)
		}
		q = append(q, p)
		start = end + 1
	}
	return q
}

// First is the value of the first parameter of that name (chttpd:qs_value).
func (q Query) First(name string) (value string, ok bool) {
	for i := range q {
		if q[i].Name == name {
			return q[i].Value, true
		}
	}
	return "", false
}

// Last is the value of the last parameter of that name.
func (q Query) Last(name string) (value string, ok bool) {
	for i := len(q) - 1; i >= 0; i-- {
		if q[i].Name == name {
			return q[i].Value, true
		}
	}
	return "", false
}

// Is reports whether the first parameter of that name has exactly this value.
func (q Query) Is(name, value string) bool {
	v, ok := q.First(name)
	return ok && v == value
}
