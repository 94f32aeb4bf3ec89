package documents

import (
	"net/http"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/compat/patch"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/params"
)

// errNoPatch is CouchDB's answer to PATCH. A PATCH whose body has no type of a patch gets it, too.
var errNoPatch = compat.MethodNotAllowed("DELETE,GET,HEAD,POST,PUT,COPY")

var errPatchType = compat.NewError(compat.KindBadContentType,
	"Content-Type must be application/merge-patch+json, application/json-patch+json or application/json")

// patchDoc serves PATCH /{db}/{id}, which CouchDB does not have: a part of a document is changed
// where it is stored.
func patchDoc(c *call.Call) error {
	kind, err := patchType(c)
	if err != nil {
		return err
	}
	replicated, err := params.WriteDocument(c.Query)
	if err != nil {
		return err
	}
	if replicated { // a patch makes a new revision
		return compat.NewError(compat.KindBadRequest, "a patch cannot be written with new_edits=false")
	}
	if err := checkWriteQuorum(c); err != nil {
		return err
	}
	o, err := writeOptions(c, false)
	if err != nil {
		return err
	}
	value, err := c.JSONBody()
	if err != nil {
		return err
	}
	if kind != ejson.Invalid && value.Kind() != kind {
		return compat.NewError(compat.KindBadRequest,
			"a JSON Patch is a list of operations, a merge patch is an object")
	}
	edit := &documents.PatchEdit{
		ID: c.DocID(), Upsert: c.Query.Is("upsert", "true"), Return: prefersRepresentation(c),
	}
	if edit.Patch, err = parsePatch(c, edit.ID, value); err != nil {
		return err
	}
	// A patch may name its revision like a document: its own member, the query and If-Match have to
	// agree.
	named := compat.Document{}
	if edit.Patch.HasRev {
		named.Revs = compat.RevPath{Start: edit.Patch.Rev.Pos, IDs: []string{edit.Patch.Rev.Hash}}
	}
	if err := params.SetRequestRev(&named, c.Query, c.Request.Header["If-Match"]); err != nil {
		return err
	}
	edit.Rev = named.Rev()
	if once, err := onceOf(c, value.Raw()); err != nil {
		return err
	} else if once != nil {
		return patchOnce(c, edit, o, once)
	}
	made, err := edit.Write(c.Context(), c.Docs, o)
	if err != nil {
		return err
	}
	return patched(c, edit, made)
}

// patchType reads what the body has to be, an array or an object; Invalid: either of them.
func patchType(c *call.Call) (ejson.Kind, error) {
	name, _, _ := strings.Cut(c.Header("Content-Type"), ";")
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "application/json-patch+json":
		return ejson.Array, nil
	case "application/merge-patch+json":
		return ejson.Object, nil
	case "application/json":
		return ejson.Invalid, nil
	case "":
		return ejson.Invalid, errNoPatch
	}
	return ejson.Invalid, errPatchType
}

// patchMemory is how many times the bytes of a patch it takes when it is read, besides its values.
const patchMemory = 10

// parsePatch reads a patch; what its tree takes besides the text is claimed before.
func parsePatch(c *call.Call, id string, value ejson.Value) (*patch.Patch, error) {
	if int64(len(value.Raw())) > c.Settings.Rules.MaxDocumentSize {
		return nil, compat.NewError(compat.KindDocumentTooLarge, id)
	}
	if err := c.TakeParsed(0, func() int64 { return patchMemory * int64(len(value.Raw())) }); err != nil {
		return nil, err
	}
	return patch.Parse(value)
}

// prefersRepresentation reports whether the client wants the document in the answer (RFC 7240).
func prefersRepresentation(c *call.Call) bool {
	for _, header := range c.Request.Header["Prefer"] {
		for _, preference := range strings.Split(header, ",") {
			preference, _, _ = strings.Cut(preference, ";")
			if strings.EqualFold(strings.TrimSpace(preference), "return=representation") {
				return true
			}
		}
	}
	return false
}

// patchStatus is 201 for a change, and 200 where nothing changed or the document is deleted by it.
func patchStatus(c *call.Call, changed, deleted bool) int {
	if changed && !deleted {
		return storedStatus(c)
	}
	return http.StatusOK
}

// patched answers a patch as a PUT of what it makes: with 200 where the document stays as it was.
func patched(c *call.Call, edit *documents.PatchEdit, made *documents.Patched) error {
	if made.Doc != nil && compat.IsLocalID(edit.ID) {
		c.SetETag(docETag(made.Doc))
	} else if !compat.IsLocalID(edit.ID) {
		c.SetETag(made.Rev.String())
	}
	c.SetHeader("Location", c.Link(c.DB.Name(), edit.ID))
	status := patchStatus(c, made.Changed, made.Deleted)
	b := appendWritten(nil, edit.ID, made.Rev)
	if edit.Return {
		c.SetHeader("Preference-Applied", "return=representation")
		view := documents.View(made.Doc, &documents.ReadOptions{})
		b = append(compat.AppendDocument(append(b[:len(b)-1], `,"doc":`...), view), '}')
	}
	return c.JSON(status, b)
}
