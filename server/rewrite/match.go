package rewrite

import (
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// binding is a variable with its value, or a member of the new query.
type binding struct {
	name  string
	value value
}

func lookUp(list []binding, name string) (value, bool) {
	for i := range list {
		if list[i].name == name {
			return list[i].value, true
		}
	}
	return value{}, false
}

// MaxTarget bounds what a request may be rewritten to, in bytes. A rule that names a variable twice
// and leads to itself makes the text twice as long each time, a hundred times; CouchDB tries.
const MaxTarget = 64 << 10

// maxElements bounds the array that a rule has for one option.
const maxElements = MaxTarget / 4

// Target finds the first rule of an array for a method ("GET" for HEAD) and a path, the segments
// after `_rewrite`, and returns the relative path with its query that the rule leads to;
// compat.ErrMissing if no rule fits (chttpd_rewrite:do_rewrite). Elements that are no objects are
// skipped. With secure (chttpd/secure_rewrites) a path with more than two ".." is an error. All rules
// have to be right, but one is in memory at a time: a design document may have 100,000.
func Target(list ejson.Value, secure bool, method string, path []string, query compat.Query) (string, error) {
	var found rule
	fits := false
	var rest []string
	var bound []binding
	for v := range list.Elements() {
		if v.Kind() != ejson.Object {
			continue
		}
		r, err := parseRule(v, secure)
		if err != nil {
			return "", err
		}
		if fits || r.method != star && r.method != method {
			continue
		}
		if rest, bound, fits = bind(r.from, path); fits {
			found = r
		}
	}
	given := make([]binding, len(query))
	for i, p := range query {
		v, err := queryValue(p)
		if err != nil {
			return "", err
		}
		given[i] = binding{p.Name, v}
	}
	if !fits {
		return "", compat.ErrMissing
	}
	return found.target(rest, append(bound, given...))
}

// bind matches a path; bound are the variables, the last one first, rest is what the star stands
// for.
func bind(from []segment, path []string) (rest []string, bound []binding, ok bool) {
	for {
		switch {
		case len(from) == 0 && len(path) == 0:
			return nil, bound, true
		case len(from) == 1 && from[0].star():
			return path, bound, true
		case len(from) == 0 || len(path) == 0:
			return nil, nil, false
		case from[0].variable:
			bound = append([]binding{{from[0].text, value{text: path[0]}}}, bound...)
		case from[0].text != path[0]:
			return nil, nil, false
		}
		from, path = from[1:], path[1:]
	}
}

// target builds the relative path of a rule that fits. The query begins with the rule's members;
// then comes, in reverse order, what was bound and the rule does not set.
func (r *rule) target(rest []string, bound []binding) (string, error) {
	query := make([]binding, 0, len(r.query)+len(bound))
	for i := len(r.query) - 1; i >= 0; i-- { // the last of equal names is found first
		if r.query[i].value.Len() > maxElements {
			return "", compat.ErrURITooLong
		}
		query = append(query, binding{r.query[i].name, r.replace(r.query[i].value, bound)})
	}
	var passed []binding
	for _, b := range bound {
		if _, set := lookUp(query, b.name); !set {
			passed = append(passed, b)
		}
	}
	all := append(passed, query...)
	var out strings.Builder
	if err := r.writePath(&out, rest, all); err != nil {
		return "", err
	}
	if err := writeQuery(&out, all); err != nil {
		return "", err
	}
	if out.Len() > MaxTarget {
		return "", compat.ErrURITooLong
	}
	return out.String(), nil
}

// writePath writes the target of a rule with its variables filled in: "*" becomes what the rule's
// own "*" matched, and a variable without a value becomes "undefined", as in CouchDB
// (couch_httpd_rewrite:make_new_path). It stops above MaxTarget bytes; the caller refuses such a
// target.
func (r *rule) writePath(out *strings.Builder, rest []string, all []binding) error {
	write := func(part string) {
		if out.Len() > 0 {
			out.WriteByte('/')
		}
		out.WriteString(quotePlus(part))
	}
	for _, s := range r.to {
		if out.Len() > MaxTarget {
			return nil
		}
		switch {
		case s.star():
			for _, part := range rest {
				write(part)
			}
			return nil
		case !s.variable:
			write(s.text)
		default:
			part := "undefined"
			if v, bound := lookUp(all, s.text); bound {
				var ok bool
				if part, ok = v.bytes(); !ok {
					return compat.ErrBadArg
				}
			}
			write(part)
		}
	}
	return nil
}

// writeQuery writes the bindings as a query, from the last to the first, since they were put in
// front of each other. Options of views are written as JSON (couch_httpd_rewrite:maybe_json),
// others as text; a value that is neither text nor a list of bytes is Erlang's badarg.
func writeQuery(out *strings.Builder, all []binding) error {
	separator := byte('?')
	for i := len(all) - 1; i >= 0 && out.Len() <= MaxTarget; i-- {
		b := &all[i]
		if b.name == star {
			continue
		}
		text, ok := b.value.bytes()
		if isJSONOption(b.name) {
			text = string(b.value.appendJSON(nil))
		} else if !ok {
			return compat.ErrBadArg
		}
		out.WriteByte(separator)
		out.WriteString(quotePlus(b.name) + "=" + quotePlus(text))
		separator = '&'
	}
	return nil
}

// replace puts variables into a value of the rule's query: a text, or the elements of an array.
func (r *rule) replace(v ejson.Value, bound []binding) value {
	switch v.Kind() {
	case ejson.String:
		if text := v.Text(); text == star {
			return r.variable(star, v, bound)
		} else if name, ok := strings.CutPrefix(text, ":"); ok {
			return r.variable(name, v, bound)
		}
	case ejson.Array:
		list := value{kind: listValue, list: make([]value, 0, v.Len())}
		for e := range v.Elements() {
			element := jsonValue(e)
			if name, ok := strings.CutPrefix(e.Text(), ":"); ok && e.Kind() == ejson.String {
				element = r.variable(name, e, bound)
			}
			list.list = append(list.list, element)
		}
		return list
	}
	return jsonValue(v)
}

// variable is the value of a variable: bound by the path or the query, else the text as it stands;
// in the form that the rule's formats ask for.
func (r *rule) variable(name string, otherwise ejson.Value, bound []binding) value {
	v, ok := lookUp(bound, name)
	if !ok {
		v = jsonValue(otherwise)
	}
	format, _ := compat.Query(r.formats).First(name)
	return formatted(v, format)
}
