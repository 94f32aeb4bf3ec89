package compat

import "strings"

// MediaType is a Content-Type or another header with parameters.
type MediaType struct {
	Name   string // lower case, `multipart/related`
	Params []Param
}

// Param is the value of the first parameter of that name (lower case).
func (m MediaType) Param(name string) (value string, ok bool) { return Query(m.Params).First(name) }

// ParseMediaType reads a header with parameters as mochiweb_util:parse_header does: cut at every
// `;`, also inside quotes; parameters without a name or without `=` are dropped; a quoted value
// ends with the parameter.
func ParseMediaType(header string) MediaType {
	parts := strings.FieldsFunc(header, func(r rune) bool { return r == ';' })
	if len(parts) == 0 {
		return MediaType{}
	}
	m := MediaType{Name: strings.ToLower(strings.Trim(parts[0], " "))}
	for _, part := range parts[1:] {
		name, value, found := strings.Cut(strings.Trim(part, " "), "=")
		if !found || name == "" {
			continue
		}
		name = strings.ToLower(strings.Trim(name, " "))
		m.Params = append(m.Params, Param{Name: name, Value: unquoteParam(strings.Trim(value, " "))})
	}
	return m
}

// unquoteParam removes the quotes around a parameter and the backslashes inside. A quote that is
// never closed is tolerated.
func unquoteParam(s string) string {
	inner, quoted := strings.CutPrefix(s, `"`)
	if !quoted {
		return s
	}
	out := make([]byte, 0, len(inner))
	for i := 0; i < len(inner); i++ {
		switch {
		case inner[i] == '"' && i == len(inner)-1:
			continue
		case inner[i] == '\\' && i+1 < len(inner):
			i++
		}
		out = append(out, inner[i])
	}
	return string(out)
}

// TypeListed reports whether a content type is among patterns such as `text/*` or
// `application/json`: without regard to case, with or without parameters
// (couch_db:compressible_att_type).
func TypeListed(contentType string, patterns []string) bool {
	name, _, _ := strings.Cut(contentType, ";")
	name = strings.ToLower(strings.TrimSpace(name))
	for _, pattern := range patterns {
		pattern = strings.ToLower(pattern)
		if main, all := strings.CutSuffix(pattern, "*"); name == pattern || (all && strings.HasPrefix(name, main)) {
			return true
		}
	}
	return false
}
