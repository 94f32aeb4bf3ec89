package documents

import (
	"errors"
	"io"
	"mime/multipart"
	"strings"

	"github.com/settee-db/settee/compat"
)

// docForm is the HTML form upload to a document, POST /{db}/{doc}.
type docForm struct {
	Doc    []byte // the field `_doc`, a document
	HasDoc bool
	Rev    string // the field `_rev`, the revision to add the files to if there is no `_doc`
	Files  []formFile
}

// formFile is one file of the field `_attachments`.
type formFile struct {
	Name string
	Type string
	Data []byte
}

// checkReferer checks the Referer header of a form upload ("" if absent) against the host of the
// request (couch_httpd:validate_referer).
func checkReferer(referer, host string) error {
	if referer == "" {
		return compat.NewError(compat.KindBadRequest, "Referer header required.")
	}
	if _, rest, found := strings.Cut(referer, "://"); found {
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			rest = rest[:i]
		}
		if rest == host {
			return nil
		}
	}
	return compat.NewError(compat.KindBadRequest, "Referer header must match host.")
}

// readDocForm reads a multipart/form-data body of at most limit bytes of content, which it keeps in
// memory as CouchDB does (mochiweb_multipart:parse_form). Errors: KindBadContentType,
// ErrRequestTooLarge, KindBadRequest for a broken form.
func readDocForm(contentType string, body io.Reader, limit int64) (*docForm, error) {
	media := compat.ParseMediaType(contentType)
	if media.Name != "multipart/form-data" {
		return nil, compat.NewError(compat.KindBadContentType, "Content-Type must be multipart/form-data")
	}
	boundary, ok := media.Param("boundary")
	if !ok || boundary == "" {
		return nil, compat.NewError(compat.KindBadRequest, "the form has no boundary")
	}
	form := &docForm{}
	parts := multipart.NewReader(body, boundary)
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			return form, nil
		}
		if err != nil {
			return nil, formError(err)
		}
		data, err := io.ReadAll(io.LimitReader(part, limit+1))
		if err != nil {
			return nil, formError(err)
		}
		if limit -= int64(len(data)); limit < 0 {
			return nil, compat.ErrRequestTooLarge
		}
		form.add(part, data)
	}
}

// formError tells a broken form from a failure of the connection.
func formError(err error) error {
	if e, ok := compat.AsError(err); ok {
		return e
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return compat.NewError(compat.KindBadRequest, "the form ends before its closing boundary")
	}
	return compat.NewError(compat.KindBadRequest, "malformed form: "+err.Error())
}

// add takes a part of the form. Files are those named _attachments; the first of several fields
// with one name counts.
func (f *docForm) add(part *multipart.Part, data []byte) {
	disposition := compat.ParseMediaType(part.Header.Get("Content-Disposition"))
	name, _ := disposition.Param("name")
	file, isFile := disposition.Param("filename")
	switch {
	case isFile && name == "_attachments":
		f.Files = append(f.Files, formFile{Name: file, Type: fileType(part), Data: data})
	case name == "_doc" && !f.HasDoc:
		f.Doc, f.HasDoc = data, true
	case name == "_rev" && f.Rev == "":
		f.Rev = string(data)
	}
}

// fileType is the Content-Type of a file, in lower case and without parameters.
func fileType(part *multipart.Part) string {
	if name := compat.ParseMediaType(part.Header.Get("Content-Type")).Name; name != "" {
		return name
	}
	return "application/octet-stream"
}
