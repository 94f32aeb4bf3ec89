package docs

import (
	"context"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/storage"
)

// FeedRequest is what a request says of a changes feed.
type FeedRequest struct {
	Options *compat.ChangesOptions
	Query   compat.Query // where filters find what they need, if it is not in the body
	// Body is the JSON that was posted, of the kind Invalid for none. It need not be valid once the feed is there.
	Body    ejson.Value
	Posted  bool
	Request func() *Request // what a filter function gets
}

// Feed is the changes of a database as a filter lets them pass. It is not for concurrent use.
type Feed struct {
	// Slow, if it is set, calls run, which takes long, and may do something meanwhile; its error ends the scan.
	Slow func(run func()) error

	d      *Database
	o      *compat.ChangesOptions
	fields *mango.Fields // that are shown of documents, nil for all
	scan   scanFunc
}

// rowFunc takes a row of a feed; storage.ErrStop ends the scan.
type rowFunc = func(*storage.Change) error

// scanFunc is Feed.Scan.
type scanFunc func(ctx context.Context, since storage.Seq, limit int64, row rowFunc) (storage.ChangesEnd, error)

// Scan hands the rows after a sequence that pass the filter to row, at most limit if it is not negative. Their
// documents are not cut down to what the principal may see; see AppendDoc.
func (f *Feed) Scan(
	ctx context.Context,
	since storage.Seq,
	limit int64,
	row func(*storage.Change) error,
) (storage.ChangesEnd, error) {
	return f.scan(ctx, since, limit, row)
}

func (f *Feed) slow(run func()) error {
	if f.Slow != nil {
		return f.Slow(run)
	}
	run()
	return nil
}

// Feed makes a feed with the filter of a request.
func (d *Database) Feed(ctx context.Context, r *FeedRequest) (*Feed, error) {
	filter, err := r.Options.ParseFilter(r.Query, d.rules.PlusIsSpace)
	if err != nil {
		return nil, err
	}
	f := &Feed{d: d, o: r.Options}
	switch {
	case filter.Builtin == "_doc_ids":
		if r.Posted && r.Body.Kind() == ejson.Invalid {
			return nil, compat.ErrInvalidJSON // a POST without a body; the query is not looked at
		}
		ids, err := compat.FilterDocIDs(r.Query, r.Body)
		if err != nil {
			return nil, err
		}
		f.scan = f.byID(ids)
	case filter.Builtin == "_design":
		f.scan = f.all(d.db.ChangesDesign)
	case filter.Builtin == "_selector":
		err = f.bySelector(r)
	case filter.Function != "":
		err = f.byFunction(ctx, filter, r)
	default:
		f.scan = f.all(d.db.Changes)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Since is where the feed begins. A descending feed does not look at since.
func (f *Feed) Since(ctx context.Context) (storage.UpdateSeq, error) {
	if f.o.Descending {
		return storage.UpdateSeq{}, nil
	}
	since, err := compat.ParseSince(f.o.Since)
	if err != nil {
		return storage.UpdateSeq{}, err
	}
	if since.Now {
		return f.d.db.LastSeq(ctx)
	}
	return storage.UpdateSeq{Seq: since.Seq}, nil
}

// AppendDoc prints the document of a row as the principal may see it and the feed shows it, null if it is none. send is
// that of Database.AppendView.
func (f *Feed) AppendDoc(
	ctx context.Context,
	b []byte,
	ch *storage.Change,
	send func([]byte) ([]byte, error),
) ([]byte, error) {
	if ch.Doc == nil || f.d.Hides() && f.d.Show(ctx, ch.Doc) != nil {
		return append(b, "null"...), nil
	}
	view := f.d.View(ch.Doc, &compat.DocOptions{Attachments: f.o.Attachments, AttEncodingInfo: f.o.AttEncodingInfo})
	if f.fields == nil {
		return f.d.AppendView(ctx, b, view, send)
	}
	start := len(b)
	b, err := f.d.AppendView(ctx, b, view, nil)
	if err != nil {
		return b, err
	}
	return appendFields(b, start, f.fields)
}

func (f *Feed) options(since storage.Seq, limit int64) storage.ChangesOptions {
	return storage.ChangesOptions{
		Since: since, Limit: limit, Descending: f.o.Descending, AllLeaves: f.o.Style == compat.StyleAllDocs,
		IncludeDocs: f.o.IncludeDocs, Conflicts: f.o.Conflicts,
	}
}

// changesSource is one of storage's scans of the feed.
type changesSource func(context.Context, storage.ChangesOptions, rowFunc) (storage.ChangesEnd, error)

// all is a scan without a filter of ours.
func (f *Feed) all(source changesSource) scanFunc {
	return func(ctx context.Context, since storage.Seq, limit int64, row rowFunc) (storage.ChangesEnd, error) {
		return source(ctx, f.options(since, limit), row)
	}
}

// byID looks the documents up where they are few, else scans the feed for them.
func (f *Feed) byID(ids []string) scanFunc {
	if int64(len(ids)) <= f.d.rules.MaxLookedUpIDs {
		return func(ctx context.Context, since storage.Seq, limit int64, row rowFunc) (storage.ChangesEnd, error) {
			return f.d.db.ChangesByID(ctx, ids, f.options(since, limit), row)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return f.passing(f.options, func(_ context.Context, ch *storage.Change) (bool, error) {
		_, wanted := slices.BinarySearch(ids, ch.ID)
		return wanted, nil
	})
}

// passing scans the whole feed for rows that pass.
func (f *Feed) passing(
	options func(since storage.Seq, limit int64) storage.ChangesOptions,
	passes func(context.Context, *storage.Change) (bool, error),
) scanFunc {
	return func(ctx context.Context, since storage.Seq, limit int64, row rowFunc) (storage.ChangesEnd, error) {
		opts := options(since, -1)
		if limit == 0 {
			opts.Limit = 0
		}
		return f.d.db.Changes(ctx, opts, func(ch *storage.Change) error {
			if ok, err := passes(ctx, ch); !ok || err != nil {
				return err
			}
			if err := row(ch); err != nil {
				return err
			}
			if limit--; limit == 0 {
				return storage.ErrStop
			}
			return nil
		})
	}
}
