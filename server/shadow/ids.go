package shadow

import (
	"bytes"
	"net/http"

	"github.com/settee-db/settee/compat/ejson"
)

// withIDs is the body for the shadow: documents that have got their ids from this server get the
// same there. Revisions do not depend on ids, so that both agree.
func (x *exchange) withIDs() ([]byte, error) {
	if x.method != http.MethodPost || x.status >= 400 || !x.writes || x.tooMuch {
		return x.request, nil
	}
	one, many := len(x.segments) == 1, len(x.segments) == 2 && x.segments[1] == "_bulk_docs"
	if !one && !many {
		return x.request, nil
	}
	body, err := ejson.Parse(x.request)
	if err != nil {
		return nil, err
	}
	answer, err := ejson.Parse(x.body)
	if err != nil {
		return nil, err
	}
	if one {
		return withID(body, answer), nil
	}
	docs, _ := body.Get("docs")
	ids := make([]ejson.Value, 0, answer.Len())
	for row := range answer.Elements() {
		ids = append(ids, row)
	}
	if len(ids) != docs.Len() { // with new_edits=false only failures are told, and ids were given
		return x.request, nil
	}
	// Other members of the request, new_edits among them, stay as they are; texts of documents,
	// too, so that numbers keep their form, on which revisions depend.
	b := []byte(`{"docs":[`)
	i := 0
	for doc := range docs.Elements() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, withID(doc, ids[i])...)
		i++
	}
	b = append(b, ']')
	for name, v := range body.Members() {
		if !name.TextIs("docs") {
			b = v.AppendJSON(append(name.AppendJSON(append(b, ',')), ':'))
		}
	}
	return append(b, '}'), nil
}

// withID is a document's text with the id of an answer if it has none. The text itself is kept:
// spaces in it cost nothing, and printing it again could change a number.
func withID(doc, row ejson.Value) []byte {
	id, answered := row.Get("id")
	if _, has := doc.Get("_id"); has || !answered || doc.Kind() != ejson.Object {
		return doc.Raw()
	}
	b := id.AppendJSON([]byte(`{"_id":`))
	rest := bytes.TrimLeft(doc.Raw()[1:], " \t\r\n")
	if rest[0] != '}' {
		b = append(b, ',')
	}
	return append(b, rest...)
}
