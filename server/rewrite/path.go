package rewrite

import (
	"strings"

	"github.com/settee-db/settee/compat"
)

// Resolve makes the path of a request of a target relative to a design document, given by its name
// without `_design/`. The target may carry a query; "/x" means the same as "x", dots are followed,
// but not above the root (chttpd_rewrite:normalize_path).
func Resolve(db, design, target string) string {
	var path []string
	for part := range strings.SplitSeq(compat.EncodeURL(db)+"/_design/"+compat.EncodeURL(design)+"/"+target, "/") {
		switch part {
		case "", ".":
		case "..":
			if n := len(path); n > 0 && path[n-1] != ".." {
				path = path[:n-1]
			} else {
				path = append(path, part)
			}
		default:
			path = append(path, part)
		}
	}
	return "/" + strings.Join(path, "/")
}

// Within reports whether a path that Resolve made is in the database, or the database itself.
func Within(db, path string) bool {
	rest, ok := strings.CutPrefix(path, "/"+compat.EncodeURL(db))
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '?')
}

// Harmless reports whether a path that Resolve made is one that everybody may ask for, with
// whatever method, and that changes and tells nothing: functions of CouchDB that take ids of the
// server go on with secure rewrites.
func Harmless(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return path == "/_uuids" || path == "/_up"
}

// AppendQuery appends the parameters to a path that a rewrite function returned
// (chttpd_rewrite:rewrite_query_params).
func AppendQuery(path string, query compat.Query) string {
	var out strings.Builder
	out.WriteString(path)
	for i, p := range query {
		if i == 0 {
			out.WriteByte('?')
		} else {
			out.WriteByte('&')
		}
		out.WriteString(quotePlus(p.Name) + "=" + quotePlus(p.Value))
	}
	return out.String()
}

// quotePlus is mochiweb_util:quote_plus.
func quotePlus(s string) string {
	const digits = "0123456789ABCDEF"
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		switch c := s[i]; {
		case c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9', c == '.', c == '-', c == '~', c == '_':
			out = append(out, c)
		case c == ' ':
			out = append(out, '+')
		default:
			out = append(out, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(out)
}
