package replication

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// Open implements Peer (couch_replicator_api_wrap:db_open).
func (p *HTTPPeer) Open(ctx context.Context, create bool, params []Header) error {
	// A server without _session gets the credentials with each request.
	if p.session == nil && p.endpoint.HasCreds && p.set.SessionAuth {
		s, err := newCookieSession(ctx, p)
		if err != nil && !errors.Is(err, errNoSession) {
			return err
		}
		p.session = s
	}
	if create {
		r := newRequest(http.MethodPut, "")
		if len(params) > 0 {
			r.query = params
		}
		uri := StripPassword(p.fullURL(r))
		err := p.doJSON(ctx, r, func(status int, _ ejson.Value) error {
			// Any other answer is taken: 412 says that the database is there, and what else is
			// wrong shows in the GET that follows.
			switch status {
			case http.StatusUnauthorized:
				return pairFailure("unauthorized", uri)
			case http.StatusForbidden:
				return pairFailure("forbidden", uri)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return p.doJSON(ctx, newRequest(http.MethodGet, ""), func(status int, v ejson.Value) error {
		switch status {
		case http.StatusOK:
			if _, err := readInfo(v); err == nil {
				return nil
			}
		case http.StatusUnauthorized:
			return pairFailure("unauthorized", p.URI())
		case http.StatusForbidden:
			return pairFailure("forbidden", p.URI())
		}
		return pairFailure("db_not_found", p.URI())
	})
}

// readInfo reads the members of GET /db that a replication needs. An answer without them is not one
// of CouchDB.
func readInfo(v ejson.Value) (Info, error) {
	if v.Kind() != ejson.Object {
		return Info{}, errStreamSyntax
	}
	seq, hasSeq := v.Get("update_seq")
	start, hasStart := v.Get("instance_start_time")
	if !hasSeq || !hasStart {
		return Info{}, errStreamSyntax
	}
	return Info{UpdateSeq: Sequence(seq.AppendJSON(nil)), InstanceStart: string(start.AppendJSON(nil))}, nil
}

// Info implements Peer.
func (p *HTTPPeer) Info(ctx context.Context) (info Info, err error) {
	err = p.doJSON(ctx, newRequest(http.MethodGet, ""), func(status int, v ejson.Value) error {
		if status != http.StatusOK {
			return pairFailure("db_not_found", p.URI())
		}
		if info, err = readInfo(v); err != nil {
			return pairFailure("db_not_found", p.URI())
		}
		return nil
	})
	return info, err
}

// OpenLocal implements Peer.
func (p *HTTPPeer) OpenLocal(ctx context.Context, id string) (doc *LocalDocument, err error) {
	err = p.doJSON(ctx, newRequest(http.MethodGet, docPath(id)), func(status int, v ejson.Value) error {
		if status != http.StatusOK || v.Kind() != ejson.Object {
			if word := memberText(v, "error"); word != "not_found" {
				return termFailure("case_clause", "{error,"+string(appendBinaryTerm(nil, word))+"}")
			}
			return nil
		}
		doc = &LocalDocument{Rev: memberText(v, "_rev"), Body: withoutSpecials(v)}
		return nil
	})
	return doc, err
}

// withoutSpecials prints an object without _id and _rev.
func withoutSpecials(v ejson.Value) []byte {
	b := []byte{'{'}
	for name, value := range v.Members() {
		if name.TextIs("_id") || name.TextIs("_rev") {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = value.AppendJSON(append(name.AppendJSON(b), ':'))
	}
	return append(b, '}')
}

// OpenDocument implements Peer.
func (p *HTTPPeer) OpenDocument(ctx context.Context, id string) (doc []byte, err error) {
	err = p.doJSON(ctx, newRequest(http.MethodGet, docPath(id)), func(status int, v ejson.Value) error {
		if status != http.StatusOK || v.Kind() != ejson.Object {
			return termFailure("error", string(appendBinaryTerm(nil, memberText(v, "error"))))
		}
		doc = v.AppendJSON(nil)
		return nil
	})
	return doc, err
}

// PutLocal implements Peer.
func (p *HTTPPeer) PutLocal(ctx context.Context, id string, doc LocalDocument) (rev string, err error) {
	b := ejson.AppendString([]byte(`{"_id":`), id)
	if doc.Rev != "" {
		b = ejson.AppendString(append(b, `,"_rev":`...), doc.Rev)
	}
	if len(doc.Body) > len("{}") {
		b = append(append(b, ','), doc.Body[1:]...)
	} else {
		b = append(b, '}')
	}
	r := newRequest(http.MethodPut, docPath(id)).json(b)
	// The header says that the write need not be synced by itself: Commit follows before a
	// checkpoint.
	r.headers = append(r.headers, Header{"X-Couch-Full-Commit", "false"})
	err = p.doJSON(ctx, r, func(status int, v ejson.Value) error {
		switch status {
		case http.StatusOK, http.StatusCreated, http.StatusAccepted:
			rev = memberText(v, "rev")
			return nil
		case http.StatusConflict:
			return ErrConflict
		}
		word, reason := memberText(v, "error"), memberText(v, "reason")
		return &Failure{
			Tag:  word,
			Term: tupleTerm(string(appendBinaryTerm(nil, word)), string(appendBinaryTerm(nil, reason))),
		}
	})
	return rev, err
}

// Commit implements Peer.
func (p *HTTPPeer) Commit(ctx context.Context) (start string, err error) {
	r := newRequest(http.MethodPost, "_ensure_full_commit")
	r.headers = []Header{{"Content-Type", "application/json"}}
	err = p.doJSON(ctx, r, func(status int, v ejson.Value) error {
		if status != http.StatusCreated || v.Kind() != ejson.Object {
			return termFailure("error", string(appendBinaryTerm(nil, memberText(v, "error"))))
		}
		if t, ok := v.Get("instance_start_time"); ok {
			start = string(t.AppendJSON(nil))
		}
		return nil
	})
	return start, err
}

// Pending implements Peer.
func (p *HTTPPeer) Pending(ctx context.Context, since Sequence) (n int64, known bool) {
	r := newRequest(http.MethodGet, "_changes", Header{"since", since.Query()}, Header{"limit", "0"})
	// CouchDB 1.x has numbers as sequences and no pending in its feed: update_seq minus the number
	// is about the same.
	number, numeric := sequenceNumber(since)
	if numeric {
		r = newRequest(http.MethodGet, "")
	}
	// It is only shown to people, so that few attempts do.
	r.retries = min(3, p.options.Retries)
	err := p.doJSON(ctx, r, func(status int, v ejson.Value) error {
		if status != http.StatusOK || v.Kind() != ejson.Object {
			return nil
		}
		if !numeric {
			m, _ := v.Get("pending")
			n, known = m.Int()
			return nil
		}
		if m, ok := v.Get("update_seq"); ok {
			var last int64
			if last, known = m.Int(); known {
				n = last - number
			}
		}
		return nil
	})
	return n, known && err == nil
}

// sequenceNumber is the number that a sequence of a CouchDB 1.x is.
func sequenceNumber(s Sequence) (n int64, ok bool) {
	n, err := strconv.ParseInt(string(s), 10, 64)
	return n, err == nil
}

// RevsDiff implements Peer.
func (p *HTTPPeer) RevsDiff(ctx context.Context, asked []IDRevs) (missing []Missing, err error) {
	b := []byte{'{'}
	for i, a := range asked {
		if i > 0 {
			b = append(b, ',')
		}
		b = compat.AppendRevs(append(ejson.AppendString(b, a.ID), ':'), a.Revs)
	}
	r := newRequest(http.MethodPost, "_revs_diff").json(append(b, '}'))
	err = p.doJSON(ctx, r, func(status int, v ejson.Value) error {
		if status != http.StatusOK || v.Kind() != ejson.Object {
			return termFailure("revs_diff_failed", intTerm(status), valueTerm(v))
		}
		for id, diff := range v.Members() {
			m := Missing{ID: id.Text()}
			if m.Revs, err = memberRevs(diff, "missing"); err != nil {
				return err
			}
			if m.Ancestors, err = memberRevs(diff, "possible_ancestors"); err != nil {
				return err
			}
			missing = append(missing, m)
		}
		return nil
	})
	return missing, err
}

func valueTerm(v ejson.Value) string {
	if v.Kind() == ejson.Invalid {
		return "null"
	}
	return compat.ErlangTerm(v)
}

// memberRevs reads a list of revisions, none if there is no such member.
func memberRevs(v ejson.Value, name string) ([]compat.Rev, error) {
	if v.Kind() != ejson.Object {
		return nil, errStreamSyntax
	}
	m, ok := v.Get(name)
	if !ok {
		return nil, nil
	}
	return compat.ParseRevs(m)
}

// BulkWrite implements Peer.
func (p *HTTPPeer) BulkWrite(ctx context.Context, docs [][]byte) (refused []Refusal, err error) {
	size := 0
	for _, d := range docs {
		size += len(d) + 1
	}
	b := append(make([]byte, 0, size+32), `{"new_edits":false,"docs":[`...)
	b = append(append(b, bytes.Join(docs, []byte{','})...), "]}"...)
	r := newRequest(http.MethodPost, "_bulk_docs").json(b)
	r.headers = append(r.headers, Header{"X-Couch-Full-Commit", "false"})
	err = p.doJSON(ctx, r, func(status int, v ejson.Value) error {
		switch {
		case status == http.StatusRequestEntityTooLarge:
			return ErrTooLarge
		// 417 is what new_edits=false answers where validation functions refuse some of the
		// documents.
		case (status == http.StatusCreated || status == http.StatusExpectationFailed) && v.Kind() == ejson.Array:
			for row := range v.Elements() {
				if word := memberText(row, "error"); word != "" {
					refused = append(refused,
						Refusal{memberText(row, "id"), memberText(row, "rev"), word, memberText(row, "reason")})
				}
			}
			return nil
		}
		return termFailure("bulk_docs_failed", intTerm(status), valueTerm(v))
	})
	return refused, err
}

// Query is the query of a feed in CouchDB's order, and the body that makes it a POST
// (couch_replicator_api_wrap:changes_since).
func (r *ChangesRequest) Query() (query []Header, body []byte) {
	o := r.Options
	feed, style := "normal", "all_docs"
	if o.Continuous {
		feed = "continuous"
	}
	if o.WinningRevsOnly {
		style = "main_only"
	}
	// A third of connection_timeout, so that the source's heartbeats come well before the watchdog
	// ends the request.
	timeout := max(1000, o.Timeout.Milliseconds()/3)
	query = []Header{
		{"feed", feed},
		{"style", style},
		{"since", r.Since.Query()},
		{"timeout", strconv.FormatInt(timeout, 10)},
	}
	switch {
	case o.Selector != nil:
		body = append(append([]byte(`{"selector":`), o.Selector...), '}')
		return append([]Header{{"filter", "_selector"}}, query...), body
	case o.DocIDs != nil:
		body = []byte(`{"doc_ids":[`)
		for i, id := range o.DocIDs {
			if i > 0 {
				body = append(body, ',')
			}
			body = ejson.AppendString(body, id)
		}
		return append([]Header{{"filter", "_doc_ids"}}, query...), append(body, "]}"...)
	case o.HasFilter:
		return filterQuery(o, query), nil
	}
	return query, nil
}

// filterQuery puts the filter and its parameters in front; parameters that the feed itself has are
// left out.
func filterQuery(o *Options, query []Header) []Header {
	if o.QueryParams != nil {
		if params, err := ejson.Parse(o.QueryParams); err == nil {
			for name, value := range params.Members() {
				key := name.Text()
				if slices.ContainsFunc(query, func(q Header) bool { return q.Name == key }) {
					continue
				}
				text := plainText(value)
				if o.Filter == "_view" && viewField[key] {
					text = string(value.AppendJSON(nil))
				}
				// Each is put in front, as Erlang builds the list.
				query = append([]Header{{key, text}}, query...)
			}
		}
	}
	return append([]Header{{"filter", o.Filter}}, query...)
}

// viewField are the view options whose values are JSON in the query (fields of #mrargs{}).
var viewField = func() map[string]bool {
	fields := map[string]bool{}
	for name := range strings.FieldsSeq("key view_type reduce preflight_fun start_key start_key_docid end_key end_key_docid keys direction limit skip " +
		"group_level group stable update multi_get inclusive_end include_docs doc_options update_seq conflicts callback sorted extra page_size bookmark") {
		fields[name] = true
	}
	return fields
}()

// Changes implements Peer. It calls row for each change as it comes; an error of row ends the
// request. The request is not repeated here: the caller goes on after the last row that it has
// seen. POST is used where the query has a body (doc_ids, selector).
func (p *HTTPPeer) Changes(
	ctx context.Context,
	c ChangesRequest,
	row func(ChangeRow) error,
) (last Sequence, err error) {
	query, body := c.Query()
	r := newRequest(http.MethodGet, "_changes", query...)
	if body != nil {
		r.method = http.MethodPost
		r.json(body)
	}
	r.feed, r.retries = true, 0
	err = p.do(ctx, r, func(a *answer) error {
		if a.status != http.StatusOK {
			v, err := a.json()
			if err != nil {
				return err
			}
			return termFailure("changes_req_failed", intTerm(a.status), valueTerm(v))
		}
		s := newObjectStream(a.body, maxChangesRow, a.room)
		// A continuous feed is one object after another, a normal one has them in "results".
		if !c.Options.Continuous {
			if err := s.enter("results"); err != nil {
				return err
			}
		}
		last, err = readChanges(s, row)
		return err
	})
	return last, err
}

// readChanges reads rows to the end of the stream, or to the object with last_seq, which a
// continuous feed has as a row. A revision that the source says is removed (by purging or a filter)
// is not passed on.
func readChanges(s *objectStream, row func(ChangeRow) error) (last Sequence, err error) {
	p := ejson.AcquireParser()
	defer p.Release()
	for {
		text, err := s.next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return "", err
		}
		v, err := p.Parse(text)
		if err != nil {
			return "", errStreamSyntax
		}
		changes, isRow := v.Get("changes")
		if !isRow {
			seq, _ := v.Get("last_seq")
			return Sequence(seq.AppendJSON(nil)), nil
		}
		r := ChangeRow{ID: memberText(v, "id")}
		if seq, ok := v.Get("seq"); ok {
			r.Seq = Sequence(seq.AppendJSON(nil))
		}
		for change := range changes.Elements() {
			rev, err := compat.ParseRev(memberText(change, "rev"))
			if err != nil {
				return "", err
			}
			r.Revs = append(r.Revs, rev)
		}
		if removed, _ := v.Get("removed"); len(r.Revs) > 0 {
			if gone, _ := removed.Bool(); gone {
				r.Revs = r.Revs[1:]
			}
		}
		if err := row(r); err != nil {
			return "", err
		}
	}
}
