package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/storage"
)

// BulkGet implements replication.Peer.
func (p *localPeer) BulkGet(ctx context.Context, wanted []replication.Wanted, found func(i int, doc []byte) error) error {
	c, err := p.member(ctx, http.MethodPost, nil, "_bulk_get")
	if err != nil {
		return err
	}
	asked := make([]storage.OpenRevsRequest, len(wanted))
	for i := range wanted {
		asked[i] = storage.OpenRevsRequest{ID: wanted[i].ID, OpenRevsOptions: storage.OpenRevsOptions{
			Revs: []compat.Rev{wanted[i].Rev}, Latest: true, Open: storage.OpenOptions{Revs: true},
		}}
	}
	type result struct {
		i   int
		doc []byte
	}
	var got []result
	err = c.db.BulkGet(ctx, asked, func(i int, results []storage.RevResult) error {
		if len(results) != 1 || results[0].Doc == nil || len(results[0].Doc.Attachments) > 0 {
			return nil
		}
		if c.hidesDocs() {
			if refusal := c.shownAll(results); refusal != nil {
				return nil //nolint:nilerr // a document that the user may not see is one that was not found
			}
		}
		c.srv.stats.read(1)
		d := results[0].Doc
		got = append(got, result{i, compat.AppendDocument(make([]byte, 0, len(d.Body)+160), viewOf(d, &compat.DocOptions{Revs: true}))})
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range got {
		if err := found(r.i, r.doc); err != nil {
			return err
		}
	}
	return nil
}

// Fetch implements replication.Peer.
func (p *localPeer) Fetch(ctx context.Context, wanted replication.Wanted, take func(*replication.Document) error) error {
	c, err := p.member(ctx, http.MethodGet, nil, wanted.ID)
	if err != nil {
		return err
	}
	results, err := c.db.OpenRevs(ctx, wanted.ID, storage.OpenRevsOptions{
		Revs: []compat.Rev{wanted.Rev}, Latest: true, Open: storage.OpenOptions{Revs: true},
	})
	if err != nil {
		return err
	}
	q := &compat.DocOptions{Revs: true, Attachments: true, AttsSince: wanted.Ancestors, HasAttsSince: len(wanted.Ancestors) > 0}
	for i := range results {
		d := results[i].Doc
		if d == nil {
			return replication.ErrMissingDoc
		}
		if err := c.shown(d); err != nil {
			return err
		}
		json, parts := c.relatedParts(d, q)
		doc := &replication.Document{ID: wanted.ID, Rev: d.Rev, JSON: json}
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
}

// Put implements replication.Peer.
func (p *localPeer) Put(ctx context.Context, doc *replication.Document) error {
	c, err := p.member(ctx, http.MethodPut, nil, doc.ID)
	if err != nil {
		return putError(doc.ID, doc.Rev, err)
	}
	rules, err := c.docRules()
	if err != nil {
		return putError(doc.ID, doc.Rev, err)
	}
	d, err := replicated(doc.JSON, rules)
	if err != nil {
		return putError(doc.ID, doc.Rev, err)
	}
	uploads := c.db.Uploads()
	err = c.upload(uploads, d, true)
	next := 0
	for i := range d.Attachments {
		a := &d.Attachments[i]
		if err != nil || a.Source != compat.SourceFollows {
			continue
		}
		if next >= len(doc.Attachments) {
			err = compat.NewError(compat.KindBadRequest, "attachment "+a.Name+" does not follow")
			break
		}
		err = c.uploadFrom(uploads, a, &doc.Attachments[next])
		next++
	}
	if err == nil {
		_, err = c.update(d, true)
	}
	if err != nil {
		c.discard(uploads)
	}
	return putError(doc.ID, doc.Rev, err)
}

// uploadFrom stores one attachment as the source gives it.
func (c *Call) uploadFrom(u *storage.Uploads, a *compat.Attachment, from *replication.Attachment) error {
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.CloseWithError(from.Copy(c.Context(), w))
	}()
	defer func() {
		_ = r.Close() // never fails
		<-done
	}()
	return c.uploadAttachment(u, a, from.Length, r, true)
}

// replicated reads a document that comes with its revisions.
func replicated(json []byte, rules compat.DocRules) (*compat.Document, error) {
	p := ejson.AcquireParser()
	defer p.Release()
	v, err := p.Parse(json)
	if err != nil {
		return nil, compat.ErrInvalidJSON
	}
	rules.Terms = false
	d, err := compat.ParseDocument(v, rules)
	if err != nil {
		return nil, err
	}
	if err := d.RequireRev(); err != nil {
		return nil, err
	}
	return d, d.ValidateAttachmentNames()
}

// putError tells refusals of one document from what ends the replication, as the replicator does with answers to a PUT.
func putError(id string, rev compat.Rev, err error) error {
	e, wire := compat.AsError(err)
	if !wire {
		return err
	}
	switch status := e.Status(); {
	case errors.Is(e, compat.KindMissingStub):
		return replication.ErrMissingStub
	case errors.Is(e, compat.KindUnauthorized), errors.Is(e, compat.KindForbidden),
		status == http.StatusRequestEntityTooLarge, status == http.StatusUnsupportedMediaType,
		errors.Is(e, compat.KindBadRequest) && strings.HasPrefix(e.Reason, "Attachment name "):
		return &replication.Refusal{ID: id, Rev: rev.String(), Word: e.Word(), Reason: e.Reason}
	}
	return replication.WriteFailed(e.Word(), e.Reason)
}

// BulkWrite implements replication.Peer.
func (p *localPeer) BulkWrite(ctx context.Context, docs [][]byte) ([]replication.Refusal, error) {
	c, err := p.member(ctx, http.MethodPost, nil, "_bulk_docs")
	if err != nil {
		return nil, requestError("bulk_docs_failed", err)
	}
	rules, err := c.docRules()
	if err != nil {
		return nil, bulkError(err)
	}
	parsed := make([]*compat.Document, len(docs))
	for i, json := range docs {
		if parsed[i], err = replicated(json, rules); err != nil {
			return nil, bulkError(err)
		}
	}
	results, err := c.writeAll(parsed, true)
	if err != nil {
		return nil, bulkError(err)
	}
	var refused []replication.Refusal
	for i := range results {
		if e := results[i].Err; e != nil {
			refused = append(refused, replication.Refusal{ID: results[i].ID, Rev: results[i].Rev.String(), Word: e.Word(), Reason: e.Reason})
		}
	}
	return refused, nil
}

func bulkError(err error) error {
	if e, wire := compat.AsError(err); wire && e.Status() == http.StatusRequestEntityTooLarge {
		return replication.ErrTooLarge
	}
	return requestError("bulk_docs_failed", err)
}
