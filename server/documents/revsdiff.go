package documents

import (
	"iter"
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage"
)

// postRevsDiff serves POST /{db}/_revs_diff.
func postRevsDiff(c *call.Call) error {
	return revsDiff(c, "{", "}", func(b []byte, d *storage.RevsDiff) []byte {
		b = append(ejson.AppendString(b, d.ID), `:{"missing":`...)
		b = compat.AppendRevs(b, d.Missing)
		if len(d.PossibleAncestors) > 0 {
			b = compat.AppendRevs(append(b, `,"possible_ancestors":`...), d.PossibleAncestors)
		}
		return append(b, '}')
	})
}

// postMissingRevs serves POST /{db}/_missing_revs, the older form.
func postMissingRevs(c *call.Call) error {
	return revsDiff(c, `{"missing_revs":{`, "}}", func(b []byte, d *storage.RevsDiff) []byte {
		return compat.AppendRevs(append(ejson.AppendString(b, d.ID), ':'), d.Missing)
	})
}

// sizedAnswer is how long an answer of _revs_diff may be that has a Content-Length, as all have in
// CouchDB. Longer ones go out as they are made.
const sizedAnswer = 64 << 10

var errNoRevisions = compat.NewError(compat.KindBadRequest, "Invalid revisions, must be a list")

// revsDiff reads the request and answers with what is missing in the order the real server prints
// it: that of a hash table. The revisions of a document are read when it is its turn, after all
// were checked.
func revsDiff(c *call.Call, begin, end string, member func([]byte, *storage.RevsDiff) []byte) error {
	body, err := c.JSONRequest()
	if err != nil {
		return err
	}
	for _, revs := range body.Members() {
		if revs.Kind() != ejson.Array {
			return errNoRevisions
		}
		if _, err := compat.ParseRevs(revs); err != nil {
			return err
		}
	}
	if body.Len() == 0 {
		if err := c.RequireDB(); err != nil {
			return err
		}
		return c.JSON(http.StatusOK, []byte(begin+end))
	}
	ids := func(yield func(string) bool) {
		for id := range body.Members() {
			if !yield(id.Text()) {
				return
			}
		}
	}
	asked := revisionsIn(body.MembersIn(compat.DictOrder(body.Len(), ids)))
	s := c.Stream(http.StatusOK)
	s.Limit(sizedAnswer)
	separator := begin
	err = c.Docs.InPartitions(ids).RevsDiff(c.Context(), asked, func(d *storage.RevsDiff) error {
		b := append(s.Buffer(), separator...)
		separator = ","
		return s.Commit(member(b, d))
	})
	if err != nil {
		return err
	}
	if separator == begin {
		end = begin + end
	}
	return s.End(end)
}

// revisionsIn reads members {id: [revs]} as they are needed. They were checked.
func revisionsIn(members iter.Seq2[ejson.Value, ejson.Value]) iter.Seq[storage.IDRevs] {
	return func(yield func(storage.IDRevs) bool) {
		for id, list := range members {
			revs, _ := compat.ParseRevs(list)
			if !yield(storage.IDRevs{ID: id.Text(), Revs: revs}) {
				return
			}
		}
	}
}
