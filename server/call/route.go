package call

import (
	"net/http"

	"github.com/settee-db/settee/compat"
)

// Access says who may use a route. The rules are CouchDB's chttpd_auth_request.
type Access uint8

const (
	// Anyone may use the route.
	Anyone Access = iota
	// SignedIn asks for any authenticated user.
	SignedIn
	// ServerAdmin asks for a server admin.
	ServerAdmin
	// Metrics asks for a server admin or a holder of the role _metrics.
	Metrics
	// Lister asks for a server admin, unless chttpd/admin_only_all_dbs is false.
	Lister
	// Member asks for a member of the database (its _security decides).
	Member
	// DatabaseAdmin asks for an admin of the database.
	DatabaseAdmin
)

var accessNames = [...]string{"anyone", "signed in", "server admin", "metrics",
	"server admin (or chttpd/admin_only_all_dbs=false)", "database member", "database admin"}

func (a Access) String() string { return accessNames[a] }

// Route is one row of a route table.
type Route struct {
	// Methods in CouchDB's spelling and order; the Allow header of a pattern is the Methods of its
	// rows joined in table order. HEAD is served wherever GET is. "*" serves every method.
	Methods string
	// Pattern is the path: names, {parameters} of one segment, and {rest...} for whatever follows.
	Pattern string
	Access  Access
	Handle  Handler
	// Unlisted keeps a row out of the Allow header, as CouchDB does for PUT of a database.
	Unlisted bool
	// Heavy is for what may make large answers: it waits while memory is short (memorygate.go).
	Heavy bool
	// Reads says that no method of the row changes anything that is stored, POST included. Of the
	// other rows everything but GET and HEAD changes something, and is refused to pages of other
	// sites (crosssite.go).
	Reads bool
	// Doc is the route's text in docs/api-coverage.md.
	Doc string
	// Users is what the row answers to those who see only some of the documents.
	Users ForUsers

	tail       bool // paths below Pattern are the same
	tailAccess Access
}

// Flag is a further property of a row's requests.
type Flag uint8

// Each is the field of Route of that name.
const (
	Heavy Flag = 1 << iota
	Reads
	Unlisted
)

// Row makes a row of a route table; flags are joined by |.
func Row(methods, pattern string, access Access, handle Handler, doc string, flags ...Flag) Route {
	r := Route{Methods: methods, Pattern: pattern, Access: access, Handle: handle, Doc: doc}
	for _, f := range flags {
		r.Heavy, r.Reads, r.Unlisted = r.Heavy || f&Heavy != 0, r.Reads || f&Reads != 0, r.Unlisted || f&Unlisted != 0
	}
	return r
}

// Tail is the row for a pattern whose paths may go on, which is ignored as in CouchDB, for others
// than the row itself.
func (r Route) Tail(access Access) Route {
	r.tail, r.tailAccess = true, access
	return r
}

// WithTails puts after each row the one of the paths that go on, if it has one.
func WithTails(rows []Route) []Route {
	all := make([]Route, 0, len(rows))
	for _, r := range rows {
		all = append(all, r)
		if r.tail {
			r.Pattern, r.Access = r.Pattern+"/{rest...}", r.tailAccess
			r.Doc = "The same; the rest of the path is ignored."
			all = append(all, r)
		}
	}
	return all
}

// changes reports whether a request of the row may change what is stored.
func (r *Route) changes(method string) bool {
	return !r.Reads && method != http.MethodGet && method != http.MethodHead
}

// NotFound answers what CouchDB answers below known endpoints: 404 missing.
func NotFound(*Call) error { return compat.ErrMissing }
