package rewrite

import (
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// rule is one of the array `rewrites`; it keeps the value that it was read from.
type rule struct {
	method  string // "*" for every one
	from    []segment
	to      []segment
	query   []member
	formats []compat.Param
}

// segment is a part of a path: a literal, a variable, or the star, which is the variable of that
// name.
type segment struct {
	text     string
	variable bool
}

func (s segment) star() bool { return s.variable && s.text == star }

const star = "*"

type member struct {
	name  string
	value ejson.Value
}

var (
	errTarget = compat.NewError(compat.KindError, "invalid_rewrite_target")
	// ErrInsecure refuses what leaves the database, with secure rewrites.
	ErrInsecure = compat.Named(compat.KindError, "insecure_rewrite_rule", "too many ../.. segments")
)

// parseRule reads one object of "rewrites" (chttpd_rewrite:make_rule). Without "method" and "from"
// a rule takes every request; without "to" it is an error. secure refuses targets that climb out of
// the database by "..".
func parseRule(v ejson.Value, secure bool) (r rule, err error) {
	r.method = star
	if method, given := v.Get("method"); given {
		r.method = method.Text()
	}
	if r.query, err = members(v, "query"); err != nil {
		return r, err
	}
	r.from = []segment{{text: star, variable: true}}
	if from, given := v.Get("from"); given {
		if r.from, err = parsePath(from, secure); err != nil {
			return r, err
		}
	}
	to, given := v.Get("to")
	if !given {
		return r, errTarget
	}
	if r.to, err = parsePath(to, secure); err != nil {
		return r, err
	}
	formats, err := members(v, "formats")
	for _, f := range formats {
		r.formats = append(r.formats, compat.Param{Name: f.name, Value: f.value.Text()})
	}
	return r, err
}

// members reads an object of a rule; another value is a crash of the real server.
func members(rule ejson.Value, name string) (list []member, err error) {
	v, given := rule.Get(name)
	if !given {
		return nil, nil
	}
	if v.Kind() != ejson.Object {
		return nil, compat.CaseClause(v)
	}
	for key, value := range v.Members() {
		list = append(list, member{key.Text(), value})
	}
	return list, nil
}

// parsePath cuts a path of a rule; empty segments do not count.
func parsePath(v ejson.Value, secure bool) ([]segment, error) {
	text, ok := jsonValue(v).bytes()
	if !ok || v.Kind() != ejson.String && v.Kind() != ejson.Array {
		return nil, compat.ErrBadArg
	}
	var path []segment
	up := 0
	for part := range strings.SplitSeq(text, "/") {
		name, variable := strings.CutPrefix(part, ":")
		switch {
		case part == "":
			continue
		case part == star:
			variable = true
		case part == "..":
			if up++; up > 2 && secure {
				return nil, ErrInsecure
			}
		}
		path = append(path, segment{name, variable})
	}
	return path, nil
}
