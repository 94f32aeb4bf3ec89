package localpeer

import (
	"context"
	"errors"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// Options are the parts that peers work with.
type Options struct {
	Docs *documents.Store
	// Create makes a database as the query of its PUT says, without asking for rights.
	Create func(ctx context.Context, name string, query compat.Query) error
}

// peer is a database of this server as one end of a replication. It does what the handlers of the
// same requests would do for the principal, without HTTP in between.
type peer struct {
	o    Options
	name string
	uri  string
	who  principal.Principal
}

// New makes the peer of a database, with the rights of a principal; uri names it in messages.
func New(o Options, name, uri string, who principal.Principal) replication.Peer {
	return &peer{o: o, name: name, uri: uri, who: who}
}

// URI implements replication.Peer.
func (p *peer) URI() string { return p.uri }

// Close implements replication.Peer.
func (p *peer) Close() {}

// database is the database under the rules now in force: each call asks for it anew, as each
// request would.
func (p *peer) database() *documents.Database {
	return p.o.Docs.Database(p.name, p.who, documents.Origin{})
}

// open is database for whoever may use it.
func (p *peer) open(ctx context.Context) (*documents.Database, error) {
	d := p.database()
	return d, d.Access().Authorize(ctx, false)
}

// opened turns the error of opening the database into that of the replication.
func (p *peer) opened(err error, uri string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, compat.KindUnauthorized):
		return replication.Unauthorized(uri)
	case errors.Is(err, compat.KindForbidden):
		return replication.Forbidden(uri)
	}
	if _, wire := compat.AsError(err); wire {
		return replication.NotFound(uri)
	}
	return err
}

// Open implements replication.Peer.
func (p *peer) Open(ctx context.Context, create bool, params []replication.Header) error {
	if create {
		if err := p.create(ctx, params); err != nil {
			return err
		}
	}
	_, err := p.Info(ctx)
	return err
}

// create tries to create the database. A failure is no error, since the database may exist, unless
// the principal may not create databases.
func (p *peer) create(ctx context.Context, params []replication.Header) error {
	if !p.who.IsAdmin() {
		uri := p.uri
		for i, q := range params {
			uri += string("?&"[min(i, 1)]) + compat.EncodeURL(q.Name) + "=" + compat.EncodeURL(q.Value)
		}
		return p.opened(documents.ErrNotServerAdmin, uri)
	}
	err := p.o.Create(ctx, p.name, queryOf(params))
	if _, wire := compat.AsError(err); wire {
		return nil
	}
	return err
}

// queryOf makes a query of the parameters that a replication gives its feed.
func queryOf(params []replication.Header) compat.Query {
	var query compat.Query
	for _, q := range params {
		query = append(query, compat.Param{Name: q.Name, Value: q.Value})
	}
	return query
}

// Info implements replication.Peer.
func (p *peer) Info(ctx context.Context) (replication.Info, error) {
	if compat.ValidateDatabaseName(p.name) != nil {
		return replication.Info{}, replication.NotFound(p.uri)
	}
	d, err := p.open(ctx)
	if err != nil {
		return replication.Info{}, p.opened(err, p.uri)
	}
	info, err := d.Bare().Info(ctx)
	if err != nil {
		return replication.Info{}, p.opened(err, p.uri)
	}
	return replication.Info{
		UpdateSeq:     replication.Sequence(documents.AppendSeq(nil, info.UpdateSeq)),
		InstanceStart: string(documents.AppendStart(nil, info)),
	}, nil
}

// OpenLocal implements replication.Peer.
func (p *peer) OpenLocal(ctx context.Context, id string) (*replication.LocalDocument, error) {
	d, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	doc, err := d.Open(ctx, id, docread.OpenOptions{})
	if errors.Is(err, compat.KindNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &replication.LocalDocument{Rev: doc.Rev.String(), Body: doc.Body}, nil
}

// PutLocal implements replication.Peer.
func (p *peer) PutLocal(ctx context.Context, id string, doc replication.LocalDocument) (string, error) {
	d, err := p.open(ctx)
	if err != nil {
		return "", err
	}
	edit := &compat.Document{ID: id, HasID: true}
	if edit.Body, err = compat.NewBody(doc.Body); err != nil {
		return "", err
	}
	if doc.Rev != "" {
		rev, err := compat.ParseRev(doc.Rev)
		if err != nil {
			return "", err
		}
		edit.Revs = compat.RevPath{Start: rev.Pos, IDs: []string{rev.Hash}}
	}
	rev, err := d.Write(ctx, edit, documents.WriteOptions{})
	if errors.Is(err, compat.KindConflict) {
		return "", replication.ErrConflict
	}
	if e, wire := compat.AsError(err); wire {
		return "", replication.WriteFailed(e.Word(), e.Reason)
	}
	return rev.String(), err
}

// Commit implements replication.Peer: what was acknowledged is durable.
func (p *peer) Commit(ctx context.Context) (string, error) {
	info, err := p.Info(ctx)
	return info.InstanceStart, err
}

// OpenDocument implements replication.Peer.
func (p *peer) OpenDocument(ctx context.Context, id string) ([]byte, error) {
	d, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	doc, err := d.Open(ctx, id, docread.OpenOptions{})
	if e, wire := compat.AsError(err); wire {
		return nil, replication.ReadFailed(e.Word())
	}
	if err != nil {
		return nil, err
	}
	return compat.AppendDocument(nil, documents.View(doc, &documents.ReadOptions{})), nil
}

// Pending implements replication.Peer.
func (p *peer) Pending(ctx context.Context, since replication.Sequence) (int64, bool) {
	from, err := compat.ParseSince(since.Query())
	if err != nil {
		return 0, false
	}
	d, err := p.open(ctx)
	if err != nil {
		return 0, false
	}
	feed := d.Bare().Feed()
	first, err := feed.Begin(ctx, from)
	if err != nil {
		return 0, false
	}
	none := func(*storage.Change) error { return nil }
	end, err := feed.Changes(ctx, storage.ChangesOptions{Since: first.Seq}, none)
	return end.Pending, err == nil
}

// RevsDiff implements replication.Peer.
func (p *peer) RevsDiff(ctx context.Context, asked []replication.IDRevs) ([]replication.Missing, error) {
	d, err := p.open(ctx)
	if err != nil {
		return nil, requestError("revs_diff_failed", err)
	}
	wanted := make([]storage.IDRevs, len(asked))
	for i := range asked {
		wanted[i] = storage.IDRevs{ID: asked[i].ID, Revs: asked[i].Revs}
	}
	missing := make([]replication.Missing, 0, len(asked))
	err = d.RevsDiff(ctx, slices.Values(wanted), func(diff *storage.RevsDiff) error {
		missing = append(missing,
			replication.Missing{ID: diff.ID, Revs: diff.Missing, Ancestors: diff.PossibleAncestors})
		return nil
	})
	if err != nil {
		return nil, requestError("revs_diff_failed", err)
	}
	return missing, nil
}

// requestError gives an error the form it has over HTTP.
func requestError(tag string, err error) error {
	if e, wire := compat.AsError(err); wire {
		return replication.RequestFailed(tag, e.Status(), e.Word(), e.Reason)
	}
	return err
}
