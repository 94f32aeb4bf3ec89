package mango

import (
	"bytes"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/fieldindex"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

const (
	// estimateLimit is how many entries of a way are counted to find the cheapest one.
	estimateLimit = 200
	// A second way is read first, for its ids alone, if that may spare many documents: the first finds at least intersectFrom, the
	// second at most intersectRatio times as many, and not more than intersectMost.
	intersectFrom  = 150
	intersectRatio = 4
	intersectMost  = 50_000
	// docWindow is how many documents are read together.
	docWindow = 64
)

// autoScan is how an index over all fields is read.
type autoScan struct {
	ix       *fieldindex.Index
	way      access
	estimate int64
	exact    bool                // the estimate is
	among    map[string]struct{} // ids that a second way found, nil: all
	second   string              // field of the second way
	sorted   bool
	desc     bool
}

// errNotReady is for an index over all fields that is still being built.
var errNotReady = errors.New("mango: the index is not ready")

// readAuto reads an index over all fields. Until it is built, documents are read instead. Where snapshots are short-lived it goes on
// in a new one behind the last entry, and documents that changed meanwhile may be seen twice or not at all.
func (f *finder) readAuto() error {
	if f.src.Fields == nil || f.from != nil && f.from.key.Kind() != ejson.Array {
		return f.readWithoutAuto()
	}
	resume := f.from
	for {
		f.stats.Snapshots++
		err := f.src.DB.View(f.ctx, func(s *storage.Snapshot) error { return f.readAutoIn(s, resume) })
		switch {
		case errors.Is(err, errNotReady):
			return f.readWithoutAuto()
		case !errors.Is(err, kv.ErrTooOld) || f.autoPlace == nil:
			return err
		}
		resume = f.autoPlace
	}
}

// readWithoutAuto answers without the index: in the order of the sort if there is one, else by id.
func (f *finder) readWithoutAuto() error {
	if len(f.plan.req.Sort.Fields) == 0 {
		return f.readAllDocs()
	}
	var fromKey []byte
	if f.from != nil {
		fromKey = collate.AppendKey(nil, f.from.key)
	}
	start, end := (&Plan{}).keyRange()
	return f.readUnbuilt(start, end, fromKey)
}

func (f *finder) readAutoIn(s *storage.Snapshot, resume *bookmark) error {
	ix, err := f.autoIndex(s)
	if err != nil {
		return err
	}
	scan, err := f.plan.chooseAccess(ix)
	if err != nil {
		return err
	}
	if scan.sorted {
		return f.readAutoSorted(s, scan, resume)
	}
	if scan.among, scan.second, err = f.plan.secondAccess(scan); err != nil {
		return err
	}
	return f.readAutoRanges(s, scan, resume)
}

func (f *finder) autoIndex(s *storage.Snapshot) (*fieldindex.Index, error) {
	list, err := f.src.Fields.Open(s)
	if err != nil {
		return nil, err
	}
	return findAuto(list, f.plan.index)
}

func findAuto(list []*fieldindex.Index, want *Index) (*fieldindex.Index, error) {
	for _, ix := range list {
		if ix.DesignDoc == want.DDoc && ix.Name == want.Name {
			return ix, nil
		}
	}
	return nil, errNotReady
}

// chooseAccess picks the cheapest way: the one of the sort, or the one with the fewest entries.
func (p *Plan) chooseAccess(ix *fieldindex.Index) (*autoScan, error) {
	scan := &autoScan{ix: ix, desc: p.req.Sort.Descending}
	if sort := p.req.Sort.Fields; len(sort) > 0 {
		way := sortAccess(p.req.Selector, p.index.auto, sort)
		others, err := ix.HasOthers()
		if err != nil {
			return nil, err
		}
		if way == nil || others {
			return nil, errNotReady // documents that the index does not know have a place in the order, too
		}
		scan.way, scan.sorted = *way, true
		scan.estimate, scan.exact, err = estimate(ix, way)
		return scan, err
	}
	for i, way := range p.req.Selector.accesses(p.index.auto) {
		n, exact, err := estimate(ix, &way)
		if err != nil {
			return nil, err
		}
		if i == 0 || n < scan.estimate {
			scan.way, scan.estimate, scan.exact = way, n, exact
		}
		if exact && n < estimateLimit/10 {
			break // nothing is worth looking for a better one
		}
	}
	if scan.way.ranges == nil {
		return nil, errNotReady
	}
	return scan, nil
}

// estimate adds up what the ranges of a way have.
func estimate(ix *fieldindex.Index, way *access) (sum int64, exact bool, err error) {
	exact = true
	for _, r := range way.ranges {
		n, all, err := ix.Estimate(r, estimateLimit)
		if err != nil {
			return 0, false, err
		}
		sum += n
		exact = exact && all
		if sum > 100*estimateLimit {
			return sum, false, nil
		}
	}
	return sum, exact, nil
}

// secondAccess reads the ids of a second way where that is likely to spare many documents.
func (p *Plan) secondAccess(scan *autoScan) (ids map[string]struct{}, field string, err error) {
	if scan.estimate < intersectFrom {
		return nil, "", nil
	}
	var best *access
	var least int64
	for _, way := range p.req.Selector.accesses(p.index.auto) {
		if way.field == scan.way.field || way.field == "" || way.class == accessPath {
			continue
		}
		n, _, err := estimate(scan.ix, &way)
		if err != nil {
			return nil, "", err
		}
		if best == nil || n < least {
			best, least = &way, n
		}
	}
	if best == nil || least > intersectMost || least > intersectRatio*scan.estimate {
		return nil, "", nil
	}
	ids = make(map[string]struct{}, least)
	for _, r := range best.ranges {
		err := scan.ix.Scan(r, false, nil, func(e *fieldindex.Entry) error {
			ids[e.ID] = struct{}{}
			return nil
		})
		if err != nil {
			return nil, "", err
		}
	}
	return ids, best.field, nil
}

// autoRow is an entry whose document is to be read.
type autoRow struct {
	id    string
	at    int // the range
	place []byte
}

// readAutoRanges reads range by range, and then the documents that the index does not know. A bookmark is [range, place]; the
// documents come after the last range, in the order of their ids.
func (f *finder) readAutoRanges(s *storage.Snapshot, scan *autoScan, resume *bookmark) error {
	first, after, err := autoResume(resume, f.plan.req.Bookmark)
	if err != nil {
		return err
	}
	w := &autoWindow{f: f, s: s, scan: scan}
	for n := first; n < len(scan.way.ranges); n++ {
		err := scan.ix.Scan(scan.way.ranges[n], false, after, func(e *fieldindex.Entry) error {
			f.autoKeys++
			if _, in := scan.among[e.ID]; scan.among != nil && !in {
				return nil
			}
			return w.add(autoRow{e.ID, n, bytes.Clone(e.Place)})
		})
		if err != nil {
			return err
		}
		after = nil
	}
	err = scan.ix.Others(func(id string) error {
		if after != nil && id <= string(after) {
			return nil
		}
		return w.add(autoRow{id, len(scan.way.ranges), []byte(id)})
	})
	if err != nil {
		return err
	}
	return w.flush()
}

func autoResume(from *bookmark, text string) (n int, after []byte, err error) {
	if from == nil {
		return 0, nil, nil
	}
	children := from.key.Children()
	number, _ := children.Next()
	place, ok := children.Next()
	at, isInt := number.Int()
	after, err = base64.RawURLEncoding.DecodeString(place.Text())
	if !ok || !isInt || at < 0 || err != nil {
		return 0, nil, errBookmark(text)
	}
	return int(at), after, nil
}

// autoWindow gathers rows whose documents are read together.
type autoWindow struct {
	f    *finder
	s    *storage.Snapshot
	scan *autoScan
	rows []autoRow
	refs []storage.DocRef
}

func (w *autoWindow) add(r autoRow) error {
	w.rows = append(w.rows, r)
	if limit := w.f.limit + w.f.skip; len(w.rows) < docWindow && (limit <= 0 || int64(len(w.rows)) < limit+1) {
		return nil
	}
	return w.flush()
}

func (w *autoWindow) flush() error {
	w.refs = w.refs[:0]
	for i := range w.rows {
		w.refs = append(w.refs, storage.DocRef{ID: w.rows[i].id})
	}
	docs, err := w.s.OpenMany(w.refs)
	if err != nil {
		return err
	}
	for i, doc := range docs {
		if doc == nil {
			continue
		}
		if err := w.take(&w.rows[i], doc); err != nil {
			return err
		}
	}
	w.rows = w.rows[:0]
	return nil
}

func (w *autoWindow) take(r *autoRow, doc *storage.Document) error {
	f := w.f
	key := strconv.AppendInt([]byte{'['}, int64(r.at), 10)
	key = base64.RawURLEncoding.AppendEncode(append(key, `,"`...), r.place)
	key = append(key, `"]`...)
	if w.scan.way.repeats() && r.at < len(w.scan.way.ranges) {
		parser := ejson.AcquireParser()
		defer parser.Release()
		body, err := parser.Parse(doc.Body)
		if err != nil {
			return err
		}
		if n, place := w.scan.ix.First(body, r.id, w.scan.way.ranges); n != r.at || !bytes.Equal(place, r.place) {
			return nil
		}
	}
	return f.takeAuto(doc, key)
}

// takeAuto looks at a document, and remembers where to go on if the snapshot ends.
func (f *finder) takeAuto(doc *storage.Document, key []byte) error {
	if err := f.addConflicts(doc); err != nil {
		return err
	}
	f.keys += f.autoKeys - 1 // take counts one
	f.autoKeys = 0
	if err := f.take(&found{id: []byte(doc.ID), key: key, doc: doc}); err != nil {
		return err
	}
	v, err := ejson.Parse(key)
	f.autoPlace = &bookmark{key: v, id: doc.ID}
	return err
}

// readAutoSorted reads in the order of the sort. A bookmark is [value] and the id, as of a JSON index on the field.
func (f *finder) readAutoSorted(s *storage.Snapshot, scan *autoScan, resume *bookmark) error {
	r := scan.way.ranges[0]
	var after []byte
	g := &autoGroup{f: f, s: s, scan: scan}
	if resume != nil {
		children := resume.key.Children()
		v, ok := children.Next()
		if !ok {
			return errBookmark(f.plan.req.Bookmark)
		}
		g.from = &sortedRow{place: collate.AppendKey(nil, v), id: resume.id}
		value, cut := fieldindex.AppendValue(nil, v)
		if after = fieldindex.AppendPlace(nil, r.Path, value, 0, resume.id); cut {
			after = fieldindex.AppendPlaceBefore(nil, r.Path, value, scan.desc)
		}
	}
	err := scan.ix.Scan(r, scan.desc, after, func(e *fieldindex.Entry) error {
		f.autoKeys++
		return g.add(e)
	})
	if err != nil {
		return err
	}
	return g.flush()
}

// autoGroup gathers entries that the index has under one key: all are in the order of their ids, unless the key is cut.
type autoGroup struct {
	f     *finder
	s     *storage.Snapshot
	scan  *autoScan
	from  *sortedRow // the bookmark's, nil: none
	value []byte
	cut   bool
	ids   []string
}

func (g *autoGroup) add(e *fieldindex.Entry) error {
	if len(g.ids) > 0 && (!bytes.Equal(g.value, e.Value) || !g.cut && len(g.ids) >= docWindow) {
		if err := g.flush(); err != nil {
			return err
		}
	}
	if len(g.ids) == 0 {
		g.value, g.cut = append(g.value[:0], e.Value...), e.Cut
	}
	g.ids = append(g.ids, e.ID)
	return nil
}

// flush takes the group's documents in order. Of a cut key the values have to be compared: all are read, and the keys of their
// values are kept.
func (g *autoGroup) flush() error {
	rows := make([]sortedRow, 0, len(g.ids))
	for ids := range slices.Chunk(g.ids, docWindow) {
		err := g.each(ids, func(doc *storage.Document, v ejson.Value) error {
			row := sortedRow{place: collate.AppendKey(nil, v), id: doc.ID}
			if !g.cut {
				return g.f.takeAuto(doc, append(v.AppendJSON([]byte{'['}), ']'))
			}
			if g.from == nil || g.scan.compare(&row, g.from) > 0 {
				rows = append(rows, row)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	g.ids = g.ids[:0]
	slices.SortFunc(rows, func(a, b sortedRow) int { return g.scan.compare(&a, &b) })
	for i := range rows {
		err := g.each([]string{rows[i].id}, func(doc *storage.Document, v ejson.Value) error {
			return g.f.takeAuto(doc, append(v.AppendJSON([]byte{'['}), ']'))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *autoScan) compare(a, b *sortedRow) int {
	if s.desc {
		return compareRows(b, a)
	}
	return compareRows(a, b)
}

// each reads documents and their values of the sort's field.
func (g *autoGroup) each(ids []string, fn func(*storage.Document, ejson.Value) error) error {
	refs := make([]storage.DocRef, len(ids))
	for i, id := range ids {
		refs[i].ID = id
	}
	docs, err := g.s.OpenMany(refs)
	if err != nil {
		return err
	}
	field := parsePath(g.f.plan.req.Sort.Fields[0])
	parser := ejson.AcquireParser()
	defer parser.Release()
	for _, doc := range docs {
		if doc == nil {
			continue
		}
		body, err := parser.Parse(doc.Body)
		if err != nil {
			return err
		}
		v, how, err := field.get(body)
		if err != nil {
			return err
		}
		if how != foundValue {
			continue
		}
		if err := fn(doc, v); err != nil {
			return err
		}
	}
	return nil
}
