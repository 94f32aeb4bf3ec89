package documents

import (
	"bytes"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// luceneVersion ends the definitions of search indexes that CouchDB 3.5.2 writes.
const luceneVersion = `"lucene_version":10`

// setLuceneVersions puts a version at the end of each index of a new design document's member
// nouveau that has none, so that the document and its revision are those which CouchDB makes of the
// same edit (nouveau_plugin_couch_db:before_doc_update/3). Here the version means nothing. An index
// that is no object stays as it is; CouchDB crashes.
func setLuceneVersions(doc *compat.Document) error {
	if !compat.IsDesignID(doc.ID) || len(doc.Revs.IDs) > 0 || !bytes.Contains(doc.Body.JSON, []byte(`"nouveau"`)) {
		return nil
	}
	body, err := ejson.Parse(doc.Body.JSON)
	if err != nil {
		return err
	}
	if indexes, _ := body.Get("nouveau"); indexes.Kind() != ejson.Object {
		return nil
	}
	text := appendMembers(nil, body, func(dst []byte, key, value ejson.Value) []byte {
		if !key.TextIs("nouveau") {
			return value.AppendJSON(dst)
		}
		return appendMembers(dst, value, func(dst []byte, _, index ejson.Value) []byte {
			dst = index.AppendJSON(dst)
			if _, set := index.Get("lucene_version"); set || index.Kind() != ejson.Object {
				return dst
			}
			dst = dst[:len(dst)-1]
			if index.Len() > 0 {
				dst = append(dst, ',')
			}
			return append(append(dst, luceneVersion...), '}')
		})
	})
	doc.Body, err = compat.NewBody(text)
	return err
}

// appendMembers appends an object whose values another function prints.
func appendMembers(dst []byte, object ejson.Value, value func(dst []byte, key, value ejson.Value) []byte) []byte {
	dst = append(dst, '{')
	separated := false
	for key, v := range object.Members() {
		if separated {
			dst = append(dst, ',')
		}
		separated = true
		dst = value(append(key.AppendJSON(dst), ':'), key, v)
	}
	return append(dst, '}')
}
