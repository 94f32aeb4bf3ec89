package documents

import (
	"net/http"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/compat/patch"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
)

// wholeOptions are of reads that show a document, not a part of it.
var wholeOptions = []string{"attachments", "att_encoding_info", "atts_since", "conflicts", "deleted",
	"deleted_conflicts", "fields", "latest", "local_seq", "meta", "open_revs", "revs", "revs_info"}

// getPart answers with the value that a JSON Pointer names in a document, which CouchDB does not
// have.
func getPart(c *call.Call, q *documents.ReadOptions, text string) error {
	for i := range c.Query {
		if slices.Contains(wholeOptions, c.Query[i].Name) {
			return compat.NewError(compat.KindBadRequest, "`"+c.Query[i].Name+"` is not possible with `pointer`")
		}
	}
	pointer, err := patch.ParsePointer(text)
	if err != nil {
		return err
	}
	if len(pointer) > 0 {
		q.Members = [][]byte{ejson.AppendString(nil, pointer[0])}
	}
	d, err := c.Docs.Get(c.Context(), c.DocID(), q)
	if err != nil {
		return err
	}
	value, found := pointer.Find(d.Body)
	if !found {
		return compat.NewError(compat.KindNotFound, "no value at "+pointer.String())
	}
	c.SetHeader("X-Couch-Rev", d.Rev.String())
	if c.NotModified(docETag(d)) {
		return nil
	}
	return c.JSON(http.StatusOK, value)
}
