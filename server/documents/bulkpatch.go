package documents

import (
	"iter"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage"
)

// bulkRows are what a _bulk_docs writes: documents, and patches of documents.
type bulkRows struct {
	docs    []*compat.Document
	patches []*documents.PatchEdit
	patched []bool // by place in the request; nil where there are no patches
}

// patchMember is in the text of a request with patches.
var patchMember = []byte(`"_patch"`)

// takePatches reads the elements of the request that have a member _patch.
func (r *bulkRows) takePatches(c *call.Call, list ejson.Value, ids compat.IDRules) error {
	r.patched = make([]bool, list.Len())
	n := 0
	for v := range list.Elements() {
		if value, ok := v.Get("_patch"); ok {
			edit, err := parsePatchRow(c, v, value, ids)
			if err != nil {
				return err
			}
			r.patched[n], r.patches = true, append(r.patches, edit)
		}
		n++
	}
	return nil
}

// parsePatchRow reads {"_id", "_rev", "_patch"}, of which _rev may be missing.
func parsePatchRow(
	c *call.Call,
	row, value ejson.Value,
	ids compat.IDRules,
) (edit *documents.PatchEdit, err error) {
	edit = new(documents.PatchEdit)
	for key, member := range row.Members() {
		switch name := key.Text(); {
		case name == "_patch":
		case name == "_id" && member.Kind() == ejson.String:
			edit.ID = member.Text()
		case name == "_rev" && member.Kind() == ejson.String:
			if edit.Rev, err = compat.ParseRev(member.Text()); err != nil {
				return nil, err
			}
		default:
			return nil, compat.NewError(compat.KindDocValidation, "a document with _patch has _id and _rev besides, both strings")
		}
	}
	if err := compat.ValidateDocID(edit.ID, ids); err != nil {
		return nil, err
	}
	if edit.Patch, err = parsePatch(c, edit.ID, value); err != nil {
		return nil, err
	}
	if edit.Patch.HasRev {
		if !edit.Rev.IsZero() && edit.Rev != edit.Patch.Rev {
			return nil, compat.NewError(compat.KindBadRequest, "_rev and that of _patch have different values")
		}
		edit.Rev = edit.Patch.Rev
	}
	return edit, nil
}

// others iterates over the elements that are documents.
func (r *bulkRows) others(list ejson.Value) iter.Seq[ejson.Value] {
	return func(yield func(ejson.Value) bool) {
		n := 0
		for v := range list.Elements() {
			if !r.patched[n] && !yield(v) {
				return
			}
			n++
		}
	}
}

// write stores the documents, and then the patches, which are applied to what there is by then. The
// results are in the order of the request.
func (r *bulkRows) write(c *call.Call, o documents.WriteOptions) ([]storage.EditResult, error) {
	var results []storage.EditResult
	var err error
	if len(r.docs) > 0 {
		results, err = c.Docs.WriteAll(c.Context(), r.docs, o)
	}
	if err != nil || len(r.patches) == 0 {
		return results, err
	}
	made, err := documents.PatchAll(c.Context(), c.Docs, r.patches, o)
	if err != nil {
		return nil, err
	}
	patched := make([]storage.EditResult, len(made))
	for i := range made {
		patched[i] = storage.EditResult{ID: r.patches[i].ID, Rev: made[i].Rev, Err: made[i].Err}
	}
	return r.ordered(results, patched), nil
}

// unwritten are rows of nothing that was written, with the revisions that were sent.
func (r *bulkRows) unwritten() []storage.EditResult {
	docs, patches := make([]storage.EditResult, len(r.docs)), make([]storage.EditResult, len(r.patches))
	for i, d := range r.docs {
		docs[i] = storage.EditResult{ID: d.ID, Rev: d.Rev()}
	}
	for i, p := range r.patches {
		patches[i] = storage.EditResult{ID: p.ID, Rev: p.Rev}
	}
	return r.ordered(docs, patches)
}

// ordered puts results into the order of the request.
func (r *bulkRows) ordered(docs, patches []storage.EditResult) []storage.EditResult {
	if r.patched == nil {
		return docs
	}
	all := make([]storage.EditResult, 0, len(r.patched))
	for _, patched := range r.patched {
		if patched {
			all, patches = append(all, patches[0]), patches[1:]
		} else {
			all, docs = append(all, docs[0]), docs[1:]
		}
	}
	return all
}
