package localpeer

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/storage/docread"
)

// BulkGet implements replication.Peer.
func (p *peer) BulkGet(ctx context.Context, wanted []replication.Wanted, found func(i int, doc []byte) error) error {
	d, err := p.open(ctx)
	if err != nil {
		return err
	}
	asked := make([]docread.OpenRevsRequest, len(wanted))
	for i := range wanted {
		asked[i] = docread.OpenRevsRequest{ID: wanted[i].ID, OpenRevsOptions: docread.OpenRevsOptions{
			Revs: []compat.Rev{wanted[i].Rev}, Latest: true, Open: docread.OpenOptions{Revs: true},
		}}
	}
	for done := 0; done < len(asked); {
		got, n, err := bulkGet(ctx, d, asked[done:])
		if err != nil {
			return err
		}
		for _, r := range got {
			if err := found(done+r.i, r.doc); err != nil {
				return err
			}
		}
		done += n
	}
	return nil
}

// bulkGetBytes is the size from which on documents are handed on. That is not done in the snapshot
// which they are read from: it may take long.
const bulkGetBytes = 4 << 20

// bulkDoc is a document that was found.
type bulkDoc struct {
	i   int // of the request
	doc []byte
}

// bulkGet reads the documents of the first n requests, of as many as bulkGetBytes allows and of at
// least one.
func bulkGet(
	ctx context.Context,
	d *documents.Database,
	asked []docread.OpenRevsRequest,
) (got []bulkDoc, n int, err error) {
	size := 0
	several := -1 // a request with more than one result
	enough := errors.New("enough")
	err = d.BulkGet(ctx, slices.Values(asked), func(i int, revs []docread.RevResult, more bool, _ *compat.Error) error {
		if more {
			several = i
			return nil
		}
		n = i + 1
		if i == several || len(revs) != 1 || revs[0].Doc == nil || len(revs[0].Doc.Attachments) > 0 {
			return nil // a document that the user may not see is one that was not found
		}
		doc := revs[0].Doc
		text := compat.AppendDocument(make([]byte, 0, len(doc.Body)+160),
			documents.View(doc, &documents.ReadOptions{Revs: true}))
		got = append(got, bulkDoc{i, text})
		if size += len(text); size >= bulkGetBytes {
			return enough
		}
		return nil
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return got, n, err
}

// Fetch implements replication.Peer.
func (p *peer) Fetch(ctx context.Context, wanted replication.Wanted, take func(*replication.Document) error) error {
	d, err := p.open(ctx)
	if err != nil {
		return err
	}
	q := &documents.ReadOptions{
		OpenRevs: []compat.Rev{wanted.Rev}, Latest: true, Revs: true,
		Attachments: true, AttsSince: wanted.Ancestors, HasAttsSince: len(wanted.Ancestors) > 0,
	}
	return d.OpenRevs(ctx, wanted.ID, q, func(revs []docread.RevResult) error {
		for i := range revs {
			found := revs[i].Doc
			if found == nil {
				return replication.ErrMissingDoc
			}
			json, parts := d.Parts(ctx, found, q)
			doc := &replication.Document{ID: wanted.ID, Rev: found.Rev, JSON: json}
			for _, part := range parts {
				doc.Attachments = append(doc.Attachments, replication.Attachment{
					Name: part.Name, Type: part.Type, Encoding: part.Encoding, Length: part.Length,
					Copy: func(_ context.Context, w io.Writer) error { return part.Content(w) },
				})
			}
			if err := take(doc); err != nil {
				return err
			}
		}
		return nil
	})
}

// Put implements replication.Peer.
func (p *peer) Put(ctx context.Context, doc *replication.Document) error {
	d, err := p.open(ctx)
	if err != nil {
		return putError(doc.ID, doc.Rev, err)
	}
	parser, err := d.Parser(ctx, true)
	if err != nil {
		return putError(doc.ID, doc.Rev, err)
	}
	edit, err := parser.ParseText(doc.JSON)
	if err != nil {
		return putError(doc.ID, doc.Rev, err)
	}
	draft := d.Draft(edit, documents.WriteOptions{Replicated: true})
	if err := upload(ctx, draft, edit, doc.Attachments); err != nil {
		draft.Discard(ctx)
		return putError(doc.ID, doc.Rev, err)
	}
	_, err = draft.Commit(ctx)
	return putError(doc.ID, doc.Rev, err)
}

// upload stores the attachments of a document, those that follow it from the source, in order.
func upload(ctx context.Context, draft *documents.Draft, d *compat.Document, following []replication.Attachment) error {
	if err := draft.Inline(ctx); err != nil {
		return err
	}
	for i := range d.Attachments {
		a := &d.Attachments[i]
		if a.Source != compat.SourceFollows {
			continue
		}
		if len(following) == 0 {
			return compat.NewError(compat.KindBadRequest, "attachment "+a.Name+" does not follow")
		}
		if err := follow(ctx, draft, a, &following[0]); err != nil {
			return err
		}
		following = following[1:]
	}
	return nil
}

// follow stores one attachment as the source gives it.
func follow(ctx context.Context, draft *documents.Draft, a *compat.Attachment, from *replication.Attachment) error {
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.CloseWithError(from.Copy(ctx, w))
	}()
	defer func() {
		_ = r.Close() // never fails
		<-done
	}()
	return draft.Follow(ctx, a, from.Length, r)
}

// putError tells the refusal of one document, which is counted, from an error that ends the
// replication. The replicator does the same with answers to a PUT.
func putError(id string, rev compat.Rev, err error) error {
	e, wire := compat.AsError(err)
	if !wire {
		return err
	}
	switch {
	case errors.Is(e, compat.KindMissingStub):
		return replication.ErrMissingStub
	case errors.Is(e, compat.KindUnauthorized), errors.Is(e, compat.KindForbidden),
		isTooLarge(e), errors.Is(e, compat.KindBadContentType),
		errors.Is(e, compat.KindBadRequest) && strings.HasPrefix(e.Reason, "Attachment name "):
		return &replication.Refusal{ID: id, Rev: rev.String(), Word: e.Word(), Reason: e.Reason}
	}
	return replication.WriteFailed(e.Word(), e.Reason)
}

// BulkWrite implements replication.Peer.
func (p *peer) BulkWrite(ctx context.Context, list [][]byte) ([]replication.Refusal, error) {
	d, err := p.open(ctx)
	if err != nil {
		return nil, requestError("bulk_docs_failed", err)
	}
	parser, err := d.Parser(ctx, true)
	if err != nil {
		return nil, bulkError(err)
	}
	parsed := make([]*compat.Document, len(list))
	for i, json := range list {
		if parsed[i], err = parser.ParseText(json); err != nil {
			return nil, bulkError(err)
		}
	}
	results, err := d.WriteAll(ctx, parsed, documents.WriteOptions{Replicated: true})
	if err != nil {
		return nil, bulkError(err)
	}
	var refused []replication.Refusal
	for i := range results {
		if e := results[i].Err; e != nil {
			refused = append(refused,
				replication.Refusal{ID: results[i].ID, Rev: results[i].Rev.String(), Word: e.Word(), Reason: e.Reason})
		}
	}
	return refused, nil
}

// isTooLarge reports whether an error says that a request has too many bytes for this server.
func isTooLarge(e *compat.Error) bool {
	switch e.Kind {
	case compat.KindDocumentTooLarge, compat.KindAttachmentTooLarge, compat.KindRequestTooLarge:
		return true
	}
	return false
}

// bulkError gives an error the form in which the replicator meets it over HTTP.
func bulkError(err error) error {
	if e, wire := compat.AsError(err); wire && isTooLarge(e) {
		return replication.ErrTooLarge
	}
	return requestError("bulk_docs_failed", err)
}
