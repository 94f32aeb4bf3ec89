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
	// Methods in CouchDB's spelling and order; the Allow header of a pattern is the Methods of its rows joined in table
	// order. HEAD is served wherever GET is. "*" serves every method.
	Methods string
	// Pattern is the path: names, {parameters} of one segment, and {rest...} for whatever follows.
	Pattern string
	Access  Access
	Handle  Handler
	// Unlisted keeps a row out of the Allow header, as CouchDB does for PUT of a database.
	Unlisted bool
	// Heavy is for what may make large answers: it waits while memory is short (memorygate.go).
	Heavy bool
	// Reads says that no method of the row changes anything that is stored, POST included. Of the other rows everything
	// but GET and HEAD changes something, and is refused to pages of other sites (crosssite.go).
	Reads bool
	// Doc is what docs/api-coverage.md says of it.
	Doc string
}

// changes reports whether a request of the row may change what is stored.
func (r *Route) changes(method string) bool {
	return !r.Reads && method != http.MethodGet && method != http.MethodHead
}

// NotFound answers what CouchDB answers below known endpoints: 404 missing.
func NotFound(*Call) error { return compat.ErrMissing }
