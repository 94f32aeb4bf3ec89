package documents

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/storage/docread"
)

// putDoc serves PUT /{db}/{id}.
func putDoc(c *call.Call) error {
	replicated, err := params.WriteDocument(c.Query)
	if err != nil {
		return err
	}
	id := c.DocID()
	// The rules depend on the database, so that a missing one is reported before a bad id.
	rules, err := c.Docs.DocRules(c.Context())
	if err != nil {
		return err
	}
	if err := compat.ValidateDocID(id, rules.IDs); err != nil {
		return err
	}
	// CouchDB looks for the semicolon, too: without a boundary the body is taken for JSON.
	if strings.HasPrefix(c.Header("Content-Type"), "multipart/related;") {
		return putRelated(c, id, replicated, rules)
	}
	value, err := c.JSONBody()
	if err != nil {
		return err
	}
	if err := c.TakeForAttachments(value); err != nil {
		return err
	}
	// Where query or If-Match name a revision it counts, too; the new revision depends on it and is
	// not made while the body is read.
	rules.AnyParent = params.NamesRev(c.Query, c.Request.Header["If-Match"])
	d, err := compat.ParseDocument(value, rules)
	if err != nil {
		return err
	}
	if err := addressDoc(c, d, id, replicated); err != nil {
		return err
	}
	if params.BatchOK(c.Query) {
		return writeBatch(c, d)
	}
	rev, err := Write(c, d, replicated)
	if err != nil {
		return err
	}
	return written(c, d, rev, replicated)
}

// addressDoc gives the document the id of the URL and the revision that body, query and If-Match
// agree on (chttpd_db:couch_doc_from_req).
func addressDoc(c *call.Call, d *compat.Document, id string, replicated bool) error {
	if err := d.ValidateAttachmentNames(); err != nil {
		return err
	}
	d.ID = id
	if err := params.SetRequestRev(d, c.Query, c.Request.Header["If-Match"]); err != nil {
		return err
	}
	if replicated {
		return d.RequireRev()
	}
	return nil
}

// writeBatch answers a request with batch=ok. The document is written at once all the same, because
// waiting would save nothing here. As in CouchDB, the client is not told if that fails.
func writeBatch(c *call.Call, d *compat.Document) error {
	if _, err := Write(c, d, false); err != nil {
		if _, wire := compat.AsError(err); !wire {
			return err
		}
	}
	return c.JSON(http.StatusAccepted, append(ejson.AppendString([]byte(`{"ok":true,"id":`), d.ID), '}'))
}

// Write stores one document with its attachments.
func Write(c *call.Call, d *compat.Document, replicated bool) (compat.Rev, error) {
	if err := checkWriteQuorum(c); err != nil {
		return compat.Rev{}, err
	}
	o, err := writeOptions(c, replicated)
	if err != nil {
		return compat.Rev{}, err
	}
	return c.Docs.Write(c.Context(), d, o)
}

// expiresHeader says when the documents of a request are deleted, unless other revisions have taken
// their place by then: a number of seconds from now, or a time as RFC 3339 has it. Not in CouchDB.
const expiresHeader = "X-Settee-Expires"

// writeOptions are the options of a write. With the header compat.TrustedHeader, which settee
// migrate sends, documents are stored as another server has accepted them.
func writeOptions(c *call.Call, replicated bool) (o documents.WriteOptions, err error) {
	o = documents.WriteOptions{Replicated: replicated, Trusted: replicated && c.Header(compat.TrustedHeader) == "true"}
	if text := c.Header(expiresHeader); text != "" {
		if o.Expires, err = parseExpires(text, time.Now()); err != nil {
			return o, err
		}
	}
	return o, nil
}

// parseExpires reads when a document expires, in milliseconds since 1970: seconds from now, or a
// time.
func parseExpires(text string, now time.Time) (int64, error) {
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		return now.UnixMilli() + int64(seconds)*1000, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.UnixMilli() <= 0 {
		return 0, compat.NewError(compat.KindBadRequest,
			expiresHeader+" must be a number of seconds, or a time like 2026-11-22T20:00:00Z")
	}
	return at.UnixMilli(), nil
}

// written answers a stored document. As in CouchDB, replicated writes always get 201, even if fewer
// copies exist than were asked for.
func written(c *call.Call, d *compat.Document, rev compat.Rev, replicated bool) error {
	named := c.Method != http.MethodPost
	if named {
		if compat.IsLocalID(d.ID) {
			c.SetETag(localETag(d.ID, rev, d.Body.JSON))
		} else {
			c.SetETag(rev.String())
		}
	}
	if c.Method != http.MethodDelete {
		c.SetHeader("Location", c.Link(c.DB.Name(), d.ID))
	}
	status := http.StatusCreated
	if !replicated {
		status = storedStatus(c)
	}
	if d.Deleted && named && status == http.StatusCreated {
		status = http.StatusOK
	}
	return c.JSON(status, appendWritten(nil, d.ID, rev))
}

// appendWritten appends {"ok":true,"id":…,"rev":…}.
func appendWritten(b []byte, id string, rev compat.Rev) []byte {
	b = ejson.AppendString(append(b, `{"ok":true,"id":`...), id)
	b = rev.AppendJSON(append(b, `,"rev":`...))
	return append(b, '}')
}

// checkWriteQuorum refuses a w that is not an integer.
func checkWriteQuorum(c *call.Call) error {
	_, _, err := params.Quorum(c.Query, "w")
	return err
}

// Accepted reports whether more copies are asked for than there are: the write is on disk, but 202
// says that it is not on all.
func Accepted(c *call.Call) bool {
	n, _, _ := params.Quorum(c.Query, "w")
	return n > 1
}

// storedStatus is 201, or 202 where more copies are asked for than there are.
func storedStatus(c *call.Call) int {
	if Accepted(c) {
		return http.StatusAccepted
	}
	return http.StatusCreated
}

// deleteDoc serves DELETE /{db}/{id}. The document is looked for before its revision is read.
func deleteDoc(c *call.Call) error {
	id := c.DocID()
	if _, err := c.Docs.Find(c.Context(), id, docread.OpenOptions{Members: docread.NoMembers}); err != nil {
		return err
	}
	rules, err := c.Docs.DocRules(c.Context())
	if err != nil {
		return err
	}
	d := &compat.Document{Deleted: true, Body: documents.EmptyBody()}
	if err := addressDoc(c, d, id, false); err != nil {
		return err
	}
	if err := compat.ValidateDocID(id, rules.IDs); err != nil {
		return err
	}
	rev, err := Write(c, d, false)
	if err != nil {
		return err
	}
	return written(c, d, rev, false)
}

// postDoc serves POST /{db}: a new document, whose id is made where the body has none.
func postDoc(c *call.Call) error {
	if err := c.RequireJSON(); err != nil {
		return err
	}
	value, err := c.JSONBody()
	if err != nil {
		return err
	}
	parser, err := c.Docs.Parser(c.Context(), false)
	if err != nil {
		return err
	}
	if err := c.TakeForAttachments(value); err != nil {
		return err
	}
	d, err := parser.Parse(value)
	if err != nil {
		return err
	}
	if !d.HasID {
		d.Revs = compat.RevPath{}
	}
	if params.BatchOK(c.Query) {
		return writeBatch(c, d)
	}
	rev, err := Write(c, d, false)
	if err != nil {
		return err
	}
	return written(c, d, rev, false)
}

// copyDoc serves COPY /{db}/{id}: the body and the attachments of a revision become a new revision
// of another document.
func copyDoc(c *call.Call) error {
	source, _, err := params.RequestRev(c.Query, c.Request.Header["If-Match"])
	if err != nil {
		return err
	}
	target, rev, err := params.Destination(c.Request.Header["Destination"], c.Settings.Rules.PlusIsSpace)
	if err != nil {
		return err
	}
	newRev, err := c.Docs.Copy(c.Context(), c.DocID(), source, target, rev)
	if err != nil {
		return err
	}
	c.SetETag(newRev.String())
	c.SetHeader("Location", c.Link(c.DB.Name(), target))
	return c.JSON(http.StatusCreated, appendWritten(nil, target, newRev))
}
