package admin

import (
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
)

var errNodePath = compat.NewError(compat.KindBadRequest, "Incomplete path to _node request")

// namelessNode are the names of a CouchDB that was given none: its image's, its packages'. Scripts
// that were written for such a CouchDB use these names in paths, so they stand for the node that
// gets the request, unless another node has that name.
var namelessNode = map[string]bool{"nonode@nohost": true, "couchdb@127.0.0.1": true, "couchdb@localhost": true}

// checkNode accepts _local and the node's names.
func checkNode(c *call.Call) error {
	if name := c.Segment(1); name != "_local" && !namesThis(c.Env, name) {
		return compat.NewError(compat.KindNotFound, "no such node: "+name)
	}
	return nil
}

// namesThis reports whether a name means this node: its own name, or a default one that no other
// node has.
func namesThis(env *call.Env, name string) bool { return name == env.Node || namelessNode[name] }

func nodeIncomplete(*call.Call) error { return errNodePath }

// nodeSelf answers the node's name for _local, and what the back-end port's welcome was for the
// name itself.
func nodeSelf(c *call.Call) error {
	if err := checkNode(c); err != nil {
		return err
	}
	if c.Segment(1) == "_local" {
		return c.JSON(http.StatusOK, []byte(`{"name":"`+c.Env.Node+`"}`))
	}
	b := ejson.AppendString([]byte(`{"couchdb":"Welcome","uuid":`), c.Env.UUID())
	b = append(b, `,"version":"`+call.Version+`","vendor":`...)
	return c.JSON(http.StatusOK, append(appendVendor(c, b), '}'))
}

// nodeUnknown answers paths below a node that lead nowhere, with 404; an unknown node is reported
// first, with a 404 of its own.
func nodeUnknown(c *call.Call) error {
	if err := checkNode(c); err != nil {
		return err
	}
	return compat.ErrMissing
}

// getVersions names what CouchDB 3.5 is built with: clients look for the members, not for their
// values.
func getVersions(c *call.Call) error {
	if err := checkNode(c); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, []byte(`{"javascript_engine":{"version":"goja","name":"spidermonkey"},`+
		`"erlang":{"version":"25.3.2","supported_hashes":["blake2s","blake2b",`+
		`"sha3_512","sha3_384","sha3_256","sha3_224","sha512","sha384","sha256","sha224","sha","md5"]},`+
		`"collation_driver":{"name":"libicu","library_version":"72.1","collator_version":"153.120",`+
		`"collation_algorithm_version":"15"}}`))
}

// getSmooshStatus reports automatic compaction, which has no channels here.
func getSmooshStatus(c *call.Call) error {
	if err := checkNode(c); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, []byte(`{"channels":{}}`))
}
