package documents

import (
	"context"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
)

// FeedOptions are the options of a feed of changes.
type FeedOptions struct {
	// Which rows are given; the zero Filter gives all.
	Filter     Filter
	Descending bool
	AllLeaves  bool // rows list all leaves, not only the winner
	Group      bool // a limit never separates rows of one commit; see groups.go

	// What is shown of the documents of rows.
	IncludeDocs, Conflicts, Attachments, AttEncodingInfo bool
	Fields                                               Fields // nil: all
}

// FilterKind tells what passes a filter.
type FilterKind uint8

// The kinds of filters.
const (
	NoFilter       FilterKind = iota // everything
	FilterIDs                        // documents with these IDs
	FilterDesign                     // design documents
	FilterSelector                   // what Selector selects
	FilterFunction                   // what a filter function of a design document lets pass
	FilterView                       // what the map function of a view emits for
)

// Filter is a filter of a feed, with what its kind needs.
type Filter struct {
	Kind             FilterKind
	IDs              []string // doubles count once
	Selector         Selector
	Design, Function string // the function of a document, which is named without `_design/`
}

// Selector is a selector of Mango. Its errors are those of compat.
type Selector interface {
	Match(doc ejson.Value) (bool, error)
	OnlyMeta() bool    // it looks at id, revision and deletion only
	Empty() bool       // it selects everything
	Members() [][]byte // names, in JSON, of the members of bodies that it looks at; nil: all
}

// Feed gives the changes of a database that pass a filter. It is not for concurrent use.
type Feed struct {
	d    *Database
	o    *FeedOptions
	scan scanFunc
	groups
}

// rowFunc takes a row of a feed; storage.ErrStop ends the scan.
type rowFunc = func(*storage.Change) error

// scanFunc is Feed.Scan.
type scanFunc func(ctx context.Context, since storage.Seq, limit int64, row rowFunc) (storage.ChangesEnd, error)

// Scan hands the rows after a sequence that pass the filter to row, at most limit if it is not
// negative. Their documents are not cut down to what the principal may see; see AppendDoc.
func (f *Feed) Scan(
	ctx context.Context,
	since storage.Seq,
	limit int64,
	row func(*storage.Change) error,
) (storage.ChangesEnd, error) {
	return f.scan(ctx, since, limit, row)
}

// Feed makes a feed. request is what a filter function gets; it is called only for one.
func (d *Database) Feed(ctx context.Context, o *FeedOptions, request func() *Request) (*Feed, error) {
	f := &Feed{d: d, o: o}
	switch o.Filter.Kind {
	case FilterIDs:
		f.scan = f.byID(o.Filter.IDs)
	case FilterDesign:
		f.scan = f.all(d.db.Feed().Designs)
	case FilterSelector:
		f.scan = f.bySelector(o.Filter.Selector)
	case FilterFunction, FilterView:
		if err := f.byFunction(ctx, request); err != nil {
			return nil, err
		}
	default:
		f.scan = f.all(d.db.Feed().Changes)
	}
	if o.Group {
		f.scan = f.grouped(f.scan)
	}
	return f, nil
}

// Begin is where a feed since a sequence begins.
func (f *Feed) Begin(ctx context.Context, since compat.Since) (storage.UpdateSeq, error) {
	return f.d.db.Feed().Begin(ctx, since)
}

// AppendDoc prints the document of a row as the principal may see it and the feed shows it, null if
// it is none. send is that of DocumentView.Append.
func (f *Feed) AppendDoc(
	ctx context.Context,
	b []byte,
	ch *storage.Change,
	send func([]byte) ([]byte, error),
) ([]byte, error) {
	if ch.Doc == nil || f.d.Hides() && f.d.Show(ctx, ch.Doc) != nil {
		return append(b, "null"...), nil //nolint:nilerr // who may not see it sees null
	}
	view := f.d.View(ch.Doc, &ReadOptions{Attachments: f.o.Attachments, AttEncodingInfo: f.o.AttEncodingInfo})
	if f.o.Fields != nil {
		if err := f.o.Fields.Check(); err != nil {
			return b, mangoError(err)
		}
	}
	return view.Append(ctx, b, f.o.Fields, send)
}

// options are the changes after a place that are asked of the store, with what rows show of
// documents.
func (f *Feed) options(since storage.Seq, limit int64) storage.ChangesOptions {
	return storage.ChangesOptions{
		Since: since, Limit: limit, Descending: f.o.Descending, AllLeaves: f.o.AllLeaves, Revoked: true,
		IncludeDocs: f.o.IncludeDocs, Conflicts: f.o.Conflicts, Members: f.d.Members(f.o.Fields),
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
			return f.d.db.Feed().ByID(ctx, ids, f.options(since, limit), row)
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
		return f.d.db.Feed().Changes(ctx, opts, func(ch *storage.Change) error {
			f.passed(ch.Seq.Seq)
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
