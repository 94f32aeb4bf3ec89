package compat

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
)

// DefaultContentType is that of an attachment which names none.
const DefaultContentType = "application/octet-stream"

// parseAttachments reads the object `_attachments`. Members that are no objects are dropped, as by
// the real server.
func parseAttachments(v ejson.Value) ([]Attachment, error) {
	atts := make([]Attachment, 0, v.Len())
	for name, props := range v.Members() {
		if props.Kind() != ejson.Object {
			continue
		}
		a, err := parseAttachment(name.Text(), props)
		if err != nil {
			return nil, err
		}
		atts = append(atts, a)
	}
	return atts, nil
}

// parseAttachment reads one attachment (couch_att:from_json).
func parseAttachment(name string, props ejson.Value) (Attachment, error) {
	a := Attachment{Name: name, Type: DefaultContentType}
	contentType, typed := props.Get("content_type")
	if typed {
		a.Type = contentType.Text()
	}
	if revpos, ok := props.Get("revpos"); ok {
		a.HasRevPos = true
		if a.RevPos, ok = revpos.Int(); !ok {
			a.RevPos = -1 // fits no stored attachment
		}
	}
	isStub, follows := isTrue(props, "stub"), isTrue(props, "follows")
	a.BadType = typed && contentType.Kind() != ejson.String && !isStub
	if !isStub && !follows {
		return a, a.parseInline(props)
	}
	a.Source = SourceStub
	if !isStub {
		a.Source = SourceFollows
	}
	if err := a.parseLengths(props); err != nil {
		return a, err
	}
	return a, a.parseDigest(props)
}

func isTrue(props ejson.Value, name string) bool {
	v, _ := props.Get(name)
	b, ok := v.Bool()
	return ok && b
}

// parseInline decodes `data`; digest and lengths that come with it are ignored.
func (a *Attachment) parseInline(props ejson.Value) error {
	value, _ := props.Get("data")
	data, ok := []byte(nil), value.Kind() == ejson.String
	if ok {
		data, ok = decodeBase64(value.TextBytes(nil))
	}
	if !ok {
		return NewError(KindBadRequest, "Invalid attachment data for "+a.Name)
	}
	a.Data = data
	a.Length, a.EncodedLength = int64(len(data)), int64(len(data))
	return nil
}

// decodeBase64 is Erlang's base64:decode: blanks are ignored, padding is needed, leftover bits of
// the last character may have any value.
func decodeBase64(text []byte) ([]byte, bool) {
	if bytes.IndexByte(text, ' ') >= 0 || bytes.IndexByte(text, '\t') >= 0 {
		kept := make([]byte, 0, len(text))
		for _, c := range text {
			if c != ' ' && c != '\t' {
				kept = append(kept, c)
			}
		}
		text = kept
	}
	// The decoder itself passes over line ends.
	data, err := base64.StdEncoding.AppendDecode(make([]byte, 0, base64.StdEncoding.DecodedLen(len(text))), text)
	return data, err == nil
}

// parseLengths reads length, encoding and encoded_length.
func (a *Attachment) parseLengths(props ejson.Value) error {
	a.Length = lengthOf(props, "length", -1)
	a.EncodedLength = a.Length
	encoding, ok := props.Get("encoding")
	if !ok {
		return nil
	}
	switch encoding.Text() {
	case "gzip":
		a.Encoding = EncodingGzip
	case "identity":
	default: // what is stored has its own, whatever a stub says
		if a.Source != SourceStub || encoding.Kind() != ejson.String {
			return NewError(KindBadRequest, "Invalid attachment encoding for "+a.Name)
		}
	}
	a.EncodedLength = lengthOf(props, "encoded_length", a.Length)
	return nil
}

// lengthOf reads a length of a stub: the default where it is not given, -1 for what is no length.
func lengthOf(props ejson.Value, name string, absent int64) int64 {
	v, ok := props.Get(name)
	if !ok {
		return absent
	}
	if n, ok := v.Int(); ok && n >= 0 {
		return n
	}
	return -1
}

// parseDigest reads `digest`. A digest that is not an MD5 is ignored.
func (a *Attachment) parseDigest(props ejson.Value) error {
	v, _ := props.Get("digest")
	text, ok := strings.CutPrefix(v.Text(), "md5-")
	if !ok {
		return nil
	}
	raw, ok := decodeBase64([]byte(text))
	switch {
	case ok && len(raw) == len(a.Digest):
		a.Digest, a.HasDigest = [16]byte(raw), true
	case !ok, len(raw) > 0 && a.Source == SourceFollows: // no bytes have this digest
		return NewError(KindBadRequest, "Invalid attachment digest for "+a.Name)
	}
	return nil
}

// checkAttachmentSizes holds the stored sizes against max_attachment_size; 0 for no limit.
func (d *Document) checkAttachmentSizes(limit int64) error {
	for i := range d.Attachments {
		if a := &d.Attachments[i]; limit > 0 && a.EncodedLength > limit {
			return NewError(KindAttachmentTooLarge, a.Name)
		}
	}
	return nil
}
