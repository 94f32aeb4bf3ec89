package documents

import (
	"context"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// selectorFilter is the filter _selector of a changes feed.
type selectorFilter struct {
	feed     *Feed
	selector Selector
	parser   ejson.Parser
	doc      []byte // the text of the document that is matched
}

// bySelector is the scan of the filter.
func (f *Feed) bySelector(selector Selector) scanFunc {
	filter := &selectorFilter{feed: f, selector: selector}
	return f.passing(filter.options, filter.passes)
}

// mangoError turns an error of Mango in a running feed into what CouchDB answers, whose worker
// crashes. A field name that cannot be parsed is reported as CouchDB 3.6 does, which parses it
// before the feed.
func mangoError(err error) error {
	e, ok := compat.AsError(err)
	if !ok {
		return err
	}
	kind := compat.KindError
	if e.Kind == compat.KindBadRequest {
		kind = e.Kind
	}
	return compat.NewError(kind, e.Reason)
}

// options are those of the scan. Documents are read only if the selector or the client wants to see
// them.
func (f *selectorFilter) options(since storage.Seq, limit int64) storage.ChangesOptions {
	opts := f.feed.options(since, limit)
	opts.IncludeDocs = f.feed.o.IncludeDocs || !f.selector.OnlyMeta()
	if members := docread.Members(f.selector.Members()); f.feed.o.IncludeDocs {
		opts.Members = opts.Members.With(members)
	} else {
		opts.Members = members
	}
	return opts
}

// passes reports whether the winner does, or with style=all_docs one of the leaves; the others are
// taken out of the row (couch_changes:filter).
func (f *selectorFilter) passes(ctx context.Context, ch *storage.Change) (bool, error) {
	if !f.feed.o.AllLeaves {
		return f.matches(ch.Doc, ch)
	}
	if f.feed.o.IncludeDocs && f.feed.o.Conflicts && ch.Doc.Conflicts == nil {
		ch.Doc.Conflicts = []compat.Rev{} // CouchDB prints an empty list here
	}
	if len(ch.Revs) == 1 {
		return f.matches(ch.Doc, ch)
	}
	if f.selector.Empty() {
		return true, nil
	}
	open := docread.OpenRevsOptions{
		Revs: slices.Clone(ch.Revs),
		Open: docread.OpenOptions{Members: f.selector.Members()},
	}
	passing := make(map[compat.Rev]bool, len(open.Revs)) // without those purged in the meantime
	err := f.feed.d.db.OpenRevs(ctx, ch.ID, open, func(revs []docread.RevResult) error {
		for _, r := range revs {
			if r.Doc == nil {
				continue
			}
			ok, err := f.matches(r.Doc, ch)
			if err != nil {
				return err
			}
			passing[r.Rev] = ok
		}
		return nil
	})
	ch.Revs = slices.DeleteFunc(ch.Revs, func(rev compat.Rev) bool { return !passing[rev] })
	return len(ch.Revs) > 0, err
}

// matches matches one revision. Without a document the row itself has the members that the selector
// looks at. Only a winner has `_conflicts`, and not with style=all_docs.
func (f *selectorFilter) matches(d *docread.Document, ch *storage.Change) (bool, error) {
	f.feed.d.store.o.Evaluated(1)
	if f.selector.Empty() {
		return true, nil
	}
	view := &compat.DocumentView{ID: ch.ID, Rev: ch.Revs[0], Deleted: ch.Deleted}
	if d != nil {
		view = View(d, &ReadOptions{})
	}
	if f.feed.o.AllLeaves {
		view.Conflicts = nil
	}
	f.doc = compat.AppendDocument(f.doc[:0], view)
	v, err := f.parser.Parse(f.doc)
	if err != nil {
		return false, err
	}
	ok, err := f.selector.Match(v)
	return ok, mangoError(err)
}
