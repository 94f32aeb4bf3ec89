package compat

import (
	"errors"
	"io"
	"mime/multipart"
	"strings"
)

// DocForm is the HTML form upload to a document, POST /{db}/{doc}.
type DocForm struct {
	Doc    []byte // the field `_doc`, a document
	HasDoc bool
	Rev    string // the field `_rev`, the revision to add the files to if there is no `_doc`
	Files  []FormFile
}

// FormFile is one file of the field `_attachments`.
type FormFile struct {
	Name string
	Type string
	Data []byte
}

// CheckReferer checks the Referer header of a form upload ("" if absent) against the host of the request
// (couch_httpd:validate_referer).
func CheckReferer(referer, host string) error {
	if referer == "" {
		return NewError(KindBadRequest, "Referer header required.")
	}
	if _, rest, found := strings.Cut(referer, "://"); found {
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			rest = rest[:i]
		}
		if rest == host {
			return nil
		}
	}
	return NewError(KindBadRequest, "Referer header must match host.")
}

// ReadDocForm reads a multipart/form-data body of at most limit bytes of content, which it keeps in memory as CouchDB
// does (mochiweb_multipart:parse_form). Errors: KindBadContentType, ErrRequestTooLarge, KindBadRequest for a broken
// form.
func ReadDocForm(contentType string, body io.Reader, limit int64) (*DocForm, error) {
	media := ParseMediaType(contentType)
	if media.Name != "multipart/form-data" {
		return nil, NewError(KindBadContentType, "Content-Type must be multipart/form-data")
	}
	boundary, ok := media.Param("boundary")
	if !ok || boundary == "" {
		return nil, NewError(KindBadRequest, "the form has no boundary")
	}
	form := &DocForm{}
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
			return nil, ErrRequestTooLarge
		}
		form.add(part, data)
	}
}

// formError tells a broken form from a failure of the connection.
func formError(err error) error {
	if e, ok := AsError(err); ok {
		return e
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return NewError(KindBadRequest, "the form ends before its closing boundary")
	}
	return NewError(KindBadRequest, "malformed form: "+err.Error())
}

func (f *DocForm) add(part *multipart.Part, data []byte) {
	disposition := ParseMediaType(part.Header.Get("Content-Disposition"))
	name, _ := disposition.Param("name")
	file, isFile := disposition.Param("filename")
	switch {
	case isFile && name == "_attachments":
		f.Files = append(f.Files, FormFile{Name: file, Type: fileType(part), Data: data})
	case name == "_doc" && !f.HasDoc:
		f.Doc, f.HasDoc = data, true
	case name == "_rev" && f.Rev == "":
		f.Rev = string(data)
	}
}

// fileType is the Content-Type of a file, in lower case and without parameters.
func fileType(part *multipart.Part) string {
	if name := ParseMediaType(part.Header.Get("Content-Type")).Name; name != "" {
		return name
	}
	return "application/octet-stream"
}
