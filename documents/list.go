package documents

import (
	"context"
	"iter"
	"math"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
)

// ListKind is one of the three lists of documents.
type ListKind uint8

// The lists: all documents but local ones, design documents, local documents.
const (
	ListAll ListKind = iota
	ListDesign
	ListLocal
)

// ListOptions ask for a list.
type ListOptions struct {
	// the range of ids; its namespace is ignored, since that of the list counts
	Range storage.RangeOptions
	// Keys, an Array, are ids to be looked up in place of the range, of which Descending, Skip and
	// Limit apply to them. Else it is of kind Invalid.
	Keys ejson.Value
	// InPartition tells that the range is that of a partition: no more rows count as skipped than
	// it has.
	InPartition bool
	// What AppendDoc shows of documents.
	Attachments, AttEncodingInfo bool
	Fields                       Fields // nil: all
}

// List is a list of documents by id, as options ask for it.
type List struct {
	d    *Database
	o    *ListOptions
	kind ListKind
}

// ListHead precedes the rows of a list.
type ListHead struct {
	storage.ListHeader
	Counted bool // whether there is a Total: local documents are neither counted nor ranked
	// whether there are Offset and UpdateSeq: not where documents are looked up by their ids
	Ranked bool
}

// ListSink takes a list, row by row in its order. What it is given is valid until it returns; its
// errors end the list.
type ListSink interface {
	Head(h ListHead) error
	Row(r *storage.ListRow) error
	// NotFound takes a key without a document, as JSON.
	NotFound(key []byte) error
}

// List makes a list; nothing is read yet.
func (d *Database) List(kind ListKind, o *ListOptions) *List { return &List{d: d, o: o, kind: kind} }

// Rows reads the list.
func (l *List) Rows(ctx context.Context, sink ListSink) error {
	switch {
	case l.o.Keys.Kind() == ejson.Array:
		return l.byKeys(ctx, sink)
	case l.kind == ListLocal:
		return l.local(ctx, sink)
	}
	o := l.rangeOptions()
	offset := int64(math.MaxInt64)
	if l.o.InPartition && o.Skip > 0 {
		var err error
		if offset, err = l.offsetInside(ctx, o); err != nil {
			return err
		}
	}
	header := func(h storage.ListHeader) error {
		h.Offset = min(h.Offset, offset)
		return sink.Head(ListHead{ListHeader: h, Counted: true, Ranked: true})
	}
	return l.d.db.AllDocs(ctx, o, header, sink.Row)
}

// offsetInside counts the rows before a range, and those of it that are skipped
// (fabric_view:fix_skip_and_limit).
func (l *List) offsetInside(ctx context.Context, o storage.RangeOptions) (int64, error) {
	skip := o.Skip
	o.Skip, o.Limit, o.WithSeq = 0, 0, false
	before := func(start storage.Bound) (n int64, err error) {
		o.Start = start
		err = l.d.db.AllDocs(ctx, o, func(h storage.ListHeader) error {
			n = h.Offset
			return nil
		}, nil)
		return n, err
	}
	first, err := before(o.Start)
	if err != nil {
		return 0, err
	}
	end := o.End
	o.End = storage.Bound{}
	last, err := before(storage.Bound{ID: end.ID, Set: true, Exclusive: !end.Exclusive})
	return first + min(skip, max(last-first, 0)), err
}

// AppendDoc prints the document of a row as the principal may see it, null if it has none; one that
// the principal may not see is an error. send is that of DocumentView.Append.
func (l *List) AppendDoc(
	ctx context.Context,
	b []byte,
	r *storage.ListRow,
	send func([]byte) ([]byte, error),
) ([]byte, error) {
	if r.Doc == nil || r.Deleted {
		return append(b, "null"...), nil
	}
	if err := l.d.Show(ctx, r.Doc); err != nil {
		return nil, err
	}
	view := l.d.View(r.Doc, &ReadOptions{Attachments: l.o.Attachments, AttEncodingInfo: l.o.AttEncodingInfo})
	if len(view.Conflicts) == 0 {
		view.Conflicts = nil
	}
	return view.Append(ctx, b, l.o.Fields, send)
}

// rangeOptions are what the list reads of the store; _design_docs is the same range of ids in a
// namespace of its own.
func (l *List) rangeOptions() storage.RangeOptions {
	r := l.o.Range
	if l.kind == ListDesign {
		r.Namespace = storage.NamespaceDesign
	}
	r.Members = l.d.Members(l.o.Fields)
	return r
}

// local lists the local documents.
func (l *List) local(ctx context.Context, sink ListSink) error {
	if err := l.d.Access().Require(ctx); err != nil {
		return err
	}
	if err := sink.Head(ListHead{}); err != nil {
		return err
	}
	return l.d.db.Locals().List(ctx, l.rangeOptions(), sink.Row)
}

// byKeys looks ids up, in the order given. Keys outside the namespace of _design_docs and
// _local_docs are dropped.
func (l *List) byKeys(ctx context.Context, sink ListSink) error {
	d := l.d.InPartitions(func(yield func(string) bool) {
		for k := range l.keys {
			if !yield(k.Text()) { // "" for what is no string: it names no partition either
				return
			}
		}
	})
	options := storage.RangeOptions{
		Limit: -1, IncludeDocs: l.o.Range.IncludeDocs, Conflicts: l.o.Range.Conflicts,
		Members: l.d.Members(l.o.Fields),
	}
	if l.kind == ListDesign {
		options.Namespace = storage.NamespaceDesign
	}
	ids := func(yield func(string) bool) {
		for k := range l.keys {
			if k.Kind() == ejson.String && !yield(k.Text()) {
				return
			}
		}
	}
	next, stop := iter.Pull(l.keys)
	defer stop()
	others := func() error { // the keys up to the next string, which is that of the row at hand
		for k, more := next(); more && k.Kind() != ejson.String; k, more = next() {
			if err := sink.NotFound(k.AppendJSON(nil)); err != nil {
				return err
			}
		}
		return nil
	}
	header := func(h storage.ListHeader) error {
		return sink.Head(ListHead{ListHeader: h, Counted: l.kind != ListLocal})
	}
	err := d.db.DocsByID(ctx, ids, options, header, func(r *storage.ListRow) error {
		if err := others(); err != nil {
			return err
		}
		if !r.Found {
			return sink.NotFound(ejson.AppendString(nil, r.ID))
		}
		return sink.Row(r)
	})
	if err != nil {
		return err
	}
	return others()
}

// keys iterates over the keys that are asked for: descending, skip, limit and the namespace apply
// in this order (fabric_view_all_docs:go).
func (l *List) keys(yield func(ejson.Value) bool) {
	all := l.o.Keys.Elements()
	if l.o.Range.Descending {
		all = l.o.Keys.ElementsBackward()
	}
	at := int64(0)
	for k := range all {
		if at++; at-l.o.Range.Skip > l.o.Range.Limit {
			return
		}
		if at > l.o.Range.Skip && l.inside(k) && !yield(k) {
			return
		}
	}
}

// inside reports whether a key is in the namespace of the list.
func (l *List) inside(k ejson.Value) bool {
	switch l.kind {
	case ListDesign:
		return compat.IsDesignID(k.Text())
	case ListLocal:
		return compat.IsLocalID(k.Text())
	}
	return true
}
