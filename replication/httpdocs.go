package replication

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/compat/multipart"
)

// errBulkGet tells that the peer does not answer _bulk_get as expected.
var errBulkGet = errors.New("no usable _bulk_get")

// maxSince is how many of the possible ancestors at the target a source is told of with each
// revision that it is asked for in bulk. The same ones go with all revisions of a document: with
// thousands of conflicts at both ends a request would grow with the square of them. What is left
// out costs nothing but attachments that are sent again.
const maxSince = 100

// BulkGet implements Peer. Results must come in the order of wanted
// (couch_replicator_api_wrap:bulk_get_zip).
func (p *HTTPPeer) BulkGet(ctx context.Context, wanted []Wanted, found func(i int, doc []byte) error) error {
	b := []byte(`{"revs":true,"latest":true,"docs":[`)
	for i := range wanted {
		if i > 0 {
			b = append(b, ',')
		}
		b = wanted[i].Rev.AppendJSON(append(b, `{"rev":`...))
		b = ejson.AppendString(append(b, `,"id":`...), wanted[i].ID)
		since := wanted[i].Ancestors
		b = compat.AppendRevs(append(b, `,"atts_since":`...), since[:min(len(since), maxSince)])
		b = append(b, '}')
	}
	b = append(b, `],"attachments":false}`...)
	r := newRequest(http.MethodPost, "_bulk_get", Header{"latest", "true"}, Header{"revs", "true"},
		Header{"attachments", "false"}).json(b)
	next := 0 // results before it were delivered by an attempt that broke off
	err := p.do(ctx, r, func(a *answer) error {
		if a.status != http.StatusOK {
			return errBulkGet
		}
		s := newObjectStream(a.body, maxItem, a.room)
		if err := s.enter("results"); err != nil {
			return bulkGetError(err)
		}
		for i := 0; ; i++ {
			text, err := s.next()
			switch {
			// Exactly as many results as were asked for; fewer or more mean that order cannot be
			// relied on.
			case errors.Is(err, io.EOF) && i >= len(wanted):
				return nil
			case err != nil || i >= len(wanted):
				return bulkGetError(err)
			// A request that broke off is sent again as a whole; what was delivered then is passed
			// over.
			case i < next:
				continue
			}
			doc, err := bulkGetDocument(text, wanted[i].ID)
			if err != nil {
				return errBulkGet
			}
			// Before found is called: an error of the caller ends all of it, and is not the
			// network's.
			next = i + 1
			if doc != nil {
				if err := found(i, doc); err != nil {
					return &callbackError{err}
				}
			}
		}
	})
	var callback *callbackError
	var failed *httpFailure
	switch {
	case errors.As(err, &callback):
		return callback.err
	case errors.As(err, &failed):
		return errBulkGet // others fetch one by one, which may work
	}
	return err
}

// callbackError is an error of the caller's function, which must not pass for one of the network.
type callbackError struct{ err error }

// Error implements error.
func (e *callbackError) Error() string { return e.err.Error() }

// bulkGetError keeps errors of reading, which are worth another attempt.
func bulkGetError(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, errStreamSyntax) || errors.Is(err, errItemTooLarge) {
		return errBulkGet
	}
	return err
}

// bulkGetDocument is the one document of a result if it was found and has no attachments, else nil.
// The memory of the result's values is released before the caller parses the document.
func bulkGetDocument(result []byte, id string) ([]byte, error) {
	p := ejson.AcquireParser()
	defer p.Release()
	v, err := p.Parse(result)
	if err != nil {
		return nil, err
	}
	return foundDocument(v, id), nil
}

// foundDocument takes the one document out of the answer of _bulk_get; nil if the answer is of any
// other form, or if the document has attachments, which come by a request of their own. nil is no
// error: the document is fetched alone then, as couch_replicator_api_wrap:bulk_get does.
func foundDocument(v ejson.Value, id string) []byte {
	docs, ok := v.Get("docs")
	// More than one revision comes where a document has conflicts with latest=true; then each is
	// fetched by itself.
	if !ok || docs.Kind() != ejson.Array || docs.Len() != 1 || memberText(v, "id") != id {
		return nil
	}
	for row := range docs.Elements() {
		if row.Kind() != ejson.Object {
			return nil
		}
		doc, ok := row.Get("ok")
		if !ok || doc.Kind() != ejson.Object || doc.Len() == 0 {
			return nil
		}
		if atts, ok := doc.Get("_attachments"); ok && atts.Len() > 0 {
			return nil
		}
		return doc.Raw()
	}
	return nil
}

// maxURL is the length of a URL from which on possible ancestors are left out.
const maxURL = 7000

// Fetch implements Peer (couch_replicator_api_wrap:open_doc_revs).
func (p *HTTPPeer) Fetch(ctx context.Context, wanted Wanted, take func(*Document) error) error {
	limit, retries, wait := maxURL, p.options.Retries, firstWait
	for {
		err := p.fetchOnce(ctx, wanted, limit, take)
		var callback *callbackError
		var failure *Failure
		switch {
		case err == nil || errors.Is(err, ErrMissingDoc) || ctx.Err() != nil:
			return err
		case errors.As(err, &callback):
			return callback.err
		// The source's limit is not known, so that the ancestors are halved until it answers;
		// without them some attachments are only sent again.
		case errors.Is(err, errURITooLong):
			if limit /= 2; limit < 256 {
				return termFailure("throw", "request_uri_too_long")
			}
			continue
		case errors.As(err, &failure) && failure == maxBackoff:
			return err
		}
		if retries--; retries <= 0 || isAddressError(err) {
			return &Failure{Tag: "open_doc_revs_failed", Term: "open_doc_revs_failed"}
		}
		wait = 2 * min(2*wait, longestWait)
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

var errURITooLong = errors.New("URI too long")

// fetchOnce asks once for a document with its attachments (GET
// ?revs=true&open_revs=[…]&latest=true). Ancestors that the target has are named as far as a URL of
// limit bytes takes them, so that the source leaves out attachments that have not changed since.
// errURITooLong asks for a smaller limit; the request is not tried again here, because take may
// have had a part of the answer.
func (p *HTTPPeer) fetchOnce(ctx context.Context, wanted Wanted, limit int, take func(*Document) error) error {
	revs := compat.AppendRevs(nil, []compat.Rev{wanted.Rev})
	r := newRequest(http.MethodGet, docPath(wanted.ID), Header{"revs", "true"}, Header{"open_revs", string(revs)},
		Header{"latest", "true"})
	r.headers, r.retries = []Header{{"Accept", "multipart/mixed"}}, 0
	if since := p.attsSince(r, wanted.Ancestors, limit); since != nil {
		r.query = append([]Header{{"atts_since", string(compat.AppendRevs(nil, since))}}, r.query...)
	}
	return p.do(ctx, r, func(a *answer) error {
		switch {
		case a.status == http.StatusRequestURITooLong:
			return errURITooLong
		case a.status != http.StatusOK:
			return p.codeFailure(r, a.status)
		}
		return readRevisions(a, wanted, take)
	})
}

// attsSince are the ancestors that fit into a URL of so many bytes.
func (p *HTTPPeer) attsSince(r *request, ancestors []compat.Rev, limit int) []compat.Rev {
	size := len("GET "+p.fullURL(r)+" HTTP/1.1\r\n") + len("&atts_since=") + 6
	for i, rev := range ancestors {
		// Quotes and comma are percent-encoded in the query: nine more bytes for each revision.
		size += len(rev.String()) + 9
		if size >= limit {
			return ancestors[:i]
		}
	}
	return ancestors
}

// readRevisions reads the multipart/mixed answer.
func readRevisions(a *answer, wanted Wanted, take func(*Document) error) error {
	contentType := compat.ParseMediaType(a.headers.Get("Content-Type"))
	boundary, ok := contentType.Param("boundary")
	if !ok || !strings.HasPrefix(contentType.Name, "multipart/") {
		return errStreamSyntax
	}
	m := multipart.NewReader(a.body, boundary)
	for {
		part, err := m.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch media := part.Header.MediaType(); {
		case media.Name == "multipart/related":
			err = a.readRelated(part, wanted, take)
		case media.Name != "application/json":
			return errStreamSyntax
		default:
			failed, _ := media.Param("error")
			err = a.readPlain(part, wanted, failed == "true", take)
		}
		if err != nil {
			return err
		}
	}
}

// readPlain reads a revision without attachments that follow, or the word that it is missing.
func (a *answer) readPlain(part io.Reader, wanted Wanted, missing bool, take func(*Document) error) error {
	if missing {
		return ErrMissingDoc
	}
	text, err := a.room.readAll(part, maxItem)
	if err != nil {
		return err
	}
	if err := take(&Document{ID: wanted.ID, Rev: wanted.Rev, JSON: text}); err != nil {
		return &callbackError{err}
	}
	return nil
}

// readRelated reads a document with its attachments: take has to read them before it returns, or
// none.
func (a *answer) readRelated(part *multipart.Part, wanted Wanted, take func(*Document) error) error {
	related, err := multipart.NewRelatedReader(part.Header.Get("content-type"), part)
	if err != nil {
		return err
	}
	first, err := related.Document()
	if err != nil {
		return err
	}
	text, err := a.room.readAll(first, maxItem)
	if err != nil {
		return err
	}
	doc := &Document{ID: wanted.ID, Rev: wanted.Rev, JSON: text}
	v, err := ejson.Parse(text)
	if err != nil {
		return errStreamSyntax
	}
	parsed, err := compat.ParseDocument(v, compat.DocRules{})
	if err != nil {
		return err
	}
	var broken error
	for i := range parsed.Attachments {
		a := &parsed.Attachments[i]
		if a.Source != compat.SourceFollows {
			continue
		}
		// Bytes follow as they are stored: those of a compressed attachment are its compressed
		// ones.
		length := a.Length
		if a.Encoding == compat.EncodingGzip {
			length = a.EncodedLength
		}
		doc.Attachments = append(doc.Attachments, Attachment{
			Name: a.Name, Type: a.Type, Encoding: a.Encoding, Length: length,
			Copy: func(_ context.Context, w io.Writer) error {
				_, err := io.Copy(w, &noticeReader{related.Attachment(length), &broken})
				return err
			},
		})
	}
	if err := take(doc); err != nil {
		if broken != nil {
			return broken // the source is to blame for what the target said
		}
		return &callbackError{err}
	}
	// What take has left unread is passed over here.
	return related.Finish()
}

// noticeReader remembers an error of the reader.
type noticeReader struct {
	r   io.Reader
	err *error
}

// Read implements io.Reader.
func (n *noticeReader) Read(p []byte) (int, error) {
	c, err := n.r.Read(p)
	if err != nil && err != io.EOF && *n.err == nil {
		*n.err = err
	}
	return c, err
}

// Put implements Peer (couch_replicator_api_wrap:update_doc). It is sent once: its attachments come
// from a stream that does not come back.
func (p *HTTPPeer) Put(ctx context.Context, doc *Document) error {
	r := newRequest(http.MethodPut, docPath(doc.ID), Header{"new_edits", "false"})
	r.retries = 0
	if len(doc.Attachments) == 0 {
		r.json(doc.JSON)
	} else {
		boundary := multipart.NewBoundary()
		parts := make([]multipart.AttachmentPart, len(doc.Attachments))
		for i := range doc.Attachments {
			a := &doc.Attachments[i]
			parts[i] = multipart.AttachmentPart{Name: a.Name, Type: a.Type, Encoding: a.Encoding, Length: a.Length,
				Content: func(w io.Writer) error { return a.Copy(ctx, w) }}
		}
		r.headers = []Header{{"Content-Type", multipart.RelatedContentType(boundary)}}
		r.length = multipart.RelatedLength(boundary, len(doc.JSON), parts)
		r.stream = func(w io.Writer) error {
			b := bytes.NewBuffer(make([]byte, 0, 64<<10))
			return flushAfter(w, b, multipart.WriteRelated(&bufferedWriter{w, b}, boundary, doc.JSON, parts))
		}
	}
	return p.doJSON(ctx, r, func(status int, v ejson.Value) error { return putResult(doc, status, v) })
}

// bufferedWriter joins small writes; see flushAfter.
type bufferedWriter struct {
	w io.Writer
	b *bytes.Buffer
}

// Write implements io.Writer.
func (w *bufferedWriter) Write(p []byte) (int, error) {
	// Multipart writers write boundaries and headers of a few bytes each; every write to the pipe
	// would become a chunk on the network.
	if w.b.Len()+len(p) > w.b.Cap() {
		if _, err := w.b.WriteTo(w.w); err != nil {
			return 0, err
		}
		if len(p) >= w.b.Cap() {
			return w.w.Write(p)
		}
	}
	return w.b.Write(p)
}

func flushAfter(w io.Writer, b *bytes.Buffer, err error) error {
	if err == nil {
		_, err = b.WriteTo(w)
	}
	return err
}

// putResult reads the answer to a document: refusals that concern this document only do not end the
// replication (couch_replicator_worker:handle_doc_write_error).
func putResult(doc *Document, status int, v ejson.Value) error {
	word, reason := memberText(v, "error"), memberText(v, "reason")
	refusal := &Refusal{doc.ID, doc.Rev.String(), word, reason}
	switch {
	case status == http.StatusOK || status == http.StatusCreated || status == http.StatusAccepted:
		return nil
	case status == http.StatusConflict:
		return termPairFailure("doc_write_failed", "conflict")
	case status == http.StatusUnauthorized && word == "unauthorized",
		status == http.StatusForbidden && word == "forbidden",
		status == http.StatusRequestEntityTooLarge,
		status == http.StatusUnsupportedMediaType,
		status == http.StatusBadRequest && word == "bad_request" && strings.HasPrefix(reason, "Attachment name "):
		return refusal
	case status == http.StatusPreconditionFailed && word == "missing_stub":
		return ErrMissingStub
	case word == "":
		return termPairFailure("doc_write_failed", tupleTerm(intTerm(status), valueTerm(v)))
	}
	return termPairFailure("doc_write_failed",
		tupleTerm(string(appendBinaryTerm(nil, word)), string(appendBinaryTerm(nil, reason))))
}

// retryMissing is the pause before a document that was announced is asked for again.
func retryMissing(ctx context.Context, set *Settings) error {
	return sleep(ctx, max(set.MissingDocRetry, time.Millisecond))
}
