package shadow

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
)

// compared are the headers that count.
var compared = []string{
	"Content-Type", "Content-Encoding", "Location", "Allow", "Www-Authenticate",
	"X-Couch-Update-Newrev", "Cache-Control", "Content-Md5", "Accept-Ranges", "Content-Range", "Etag",
}

// volatile are members that are each server's own: sequences, sizes, times, signatures. They count
// in documents and rows.
var volatile = map[string]bool{
	"seq": true, "last_seq": true, "update_seq": true, "purge_seq": true, "compacted_seq": true,
	"pending": true, "uuid": true, "instance_start_time": true, "signature": true, "bookmark": true,
	"execution_time_ms": true,
	"ref":               true, "sizes": true, "cluster": true, "disk_format_version": true,
	"compact_running": true,
	"settee":          true, "warning": true, "execution_stats": true,
}

// users are the members whose values are a client's.
var users = map[string]bool{"doc": true, "docs": true, "ok": true, "value": true, "key": true}

var (
	// a revision or an attachment's digest; other tags are of one server
	stableETag = regexp.MustCompile(`^"(\d+-[0-9a-f]{32}|[A-Za-z0-9+/]{22}==)"$`)
	boundary   = regexp.MustCompile(`boundary="?([^";]+)"?`)
	origin     = regexp.MustCompile(`^https?://[^/]*`)
)

// differ says where two answers differ, "" if they do not: status, then headers, then body, of
// which the first place is told, without what is there. Bodies that are JSON are compared as
// values, others byte by byte.
func differ(x *exchange, theirs *answer) string {
	if x.status != theirs.status {
		return "status"
	}
	for _, name := range compared {
		if headerOf(x.answers, name) != headerOf(theirs.header, name) {
			return "header " + name
		}
	}
	ours, other := x.body, theirs.body
	if x.method == http.MethodHead || bytes.Equal(ours, other) {
		return ""
	}
	a, errA := ejson.Parse(ours)
	b, errB := ejson.Parse(other)
	if errA != nil || errB != nil {
		if bytes.Equal(unbound(ours, x.answers), unbound(other, theirs.header)) {
			return ""
		}
		return "body"
	}
	// What is read of a document is the client's own from the first member on.
	document := len(x.segments) > 1 && !strings.HasPrefix(x.segments[1], "_") ||
		len(x.segments) == 3 && x.segments[1] == "_design"
	unordered := len(x.segments) == 2 && x.segments[1] == "_changes"
	return differing("body", a, b, x.status < 300 && document && x.method == http.MethodGet, unordered)
}

// headerOf is a header without what each server has of its own.
func headerOf(h http.Header, name string) string {
	v := strings.Join(h.Values(name), ", ")
	switch {
	case name == "Etag" && !stableETag.MatchString(v):
		return "" // neither has it, or it is a server's own
	case name == "Location":
		return origin.ReplaceAllString(v, "")
	case name == "Content-Type":
		return boundary.ReplaceAllString(v, "boundary")
	}
	return v
}

// unbound is a body in parts without its boundary, which each answer has another of.
func unbound(body []byte, h http.Header) []byte {
	if m := boundary.FindStringSubmatch(h.Get("Content-Type")); m != nil {
		return bytes.ReplaceAll(body, []byte(m[1]), []byte("boundary"))
	}
	return body
}

// differing gives the path of the first difference of two values, "" if there is none. Within what
// is a client's every member counts. The order of members does not, and that of an unordered
// list's elements neither: of _changes only each shard has one.
func differing(path string, a, b ejson.Value, client, unordered bool) string {
	if a.Kind() != b.Kind() {
		return path
	}
	switch a.Kind() {
	case ejson.Object:
		return differingMembers(path, a, b, client, unordered)
	case ejson.Array:
		if a.Len() != b.Len() {
			return path
		}
		others := make([]ejson.Value, 0, b.Len())
		for e := range b.Elements() {
			others = append(others, e)
		}
		if unordered {
			return differingRows(path, a, others)
		}
		i := 0
		for e := range a.Elements() {
			if where := differing(fmt.Sprintf("%s[%d]", path, i), e, others[i], client, false); where != "" {
				return where
			}
			i++
		}
		return ""
	}
	if !bytes.Equal(a.AppendJSON(nil), b.AppendJSON(nil)) {
		return path
	}
	return ""
}

// differingMembers compares objects. A member that only one of them has is a difference, unless it
// is one that each server has for itself.
func differingMembers(path string, a, b ejson.Value, client, unordered bool) string {
	for name, v := range a.Members() {
		text := name.Text()
		if !client && volatile[text] {
			continue
		}
		other, ok := b.Get(text)
		if !ok {
			return path + "." + text
		}
		where := differing(path+"."+text, v, other, client || users[text], unordered && text == "results")
		if where != "" {
			return where
		}
	}
	for name := range b.Members() {
		if _, ok := a.Get(name.Text()); !ok && (client || !volatile[name.Text()]) {
			return path + "." + name.Text()
		}
	}
	return ""
}

// differingRows compares rows of a feed by their ids, of which each has one row. Both lists have
// the same length already.
func differingRows(path string, a ejson.Value, others []ejson.Value) string {
	byID := make(map[string]ejson.Value, len(others))
	for _, e := range others {
		id, _ := e.Get("id")
		byID[id.Text()] = e
	}
	for e := range a.Elements() {
		id, _ := e.Get("id")
		if where := differing(path+"[…]", e, byID[id.Text()], false, false); where != "" {
			return where
		}
	}
	return ""
}
