package aggregate

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/selector"
)

// Plan is how a request is answered.
type Plan struct {
	r       *Request
	find    *mango.Plan // finds the documents, in any order
	inOrder *mango.Plan // finds them in the order of the groups; nil: no index does
	kind    planKind
	// Of the plans that read no rows.
	index *mango.Index
	equal []ejson.Value // of its first columns
	// the selector is empty: the documents without a group are all that are not in the index
	all bool
	// byKey: the index has the groups in the order of the answer, so that those of a page are read and
	// no others. What has no group must not depend on them.
	byKey bool
	// fromEnd: they come in the reverse order of the answer, so that those of a page are kept and no
	// others.
	fromEnd bool

	entries *entriesOf // of the plan of that name
}

type planKind uint8

const (
	hashed planKind = iota
	inOrder
	entries
	counted
	summed
)

var planNames = [...]string{
	hashed: "hashed", inOrder: "ordered", entries: "entries", counted: "counted", summed: "summed",
}

// planReads are the words of _explain for what each plan reads.
var planReads = [...]string{
	hashed: "rows", inOrder: "rows", entries: "entries of a field", counted: "counts of groups",
	summed: "sums of groups",
}

// rowless reports whether a plan reads what an index has above its rows.
func (k planKind) rowless() bool { return k >= counted }

// NewPlan chooses the plan among the indexes of the database, mango.AllDocs included. Errors are
// those of mango.NewPlan.
func NewPlan(r *Request, indexes []*mango.Index, partitionedDB bool) (p *Plan, err error) {
	p = &Plan{r: r}
	if p.find, err = mango.NewPlan(r.query, indexes, partitionedDB, false); err != nil {
		return nil, err
	}
	if p.find.Nothing() { // $and of nothing, to which the indexes would have all documents
		return p, nil
	}
	wants, only := r.query.Selector.Conjunction()
	for i := range r.groups {
		if g := &r.groups[i]; !g.whole() || g.name[0] == '_' {
			return p, nil // another order than that of an index
		}
	}
	for _, ix := range indexes {
		if ix.Kind != mango.KindJSON || ix.Filter || ix.Partitioned != (r.partition != "") ||
			r.use.Kind() != ejson.Invalid && ix != p.find.Index() {
			continue
		}
		if only && !p.kind.rowless() {
			p.count(ix, wants)
		}
		if len(r.groups) > 0 && (p.inOrder == nil || !p.inOrder.Covering()) {
			if err := p.stream(ix, wants, indexes, partitionedDB); err != nil {
				return nil, err
			}
		}
	}
	if only && p.kind == hashed {
		p.takeEntries(indexes, wants)
	}
	return p, nil
}

// has tells which plan has all values of the groups of an index; ok is false where none does.
func (r *Request) has(ix *mango.Index) (kind planKind, ok bool) {
	kind = counted
	for _, a := range r.values {
		if a.op == countOp {
			continue
		}
		if _, ok := operators[a.op]().(summable); !ok || !slices.Contains(ix.Values, r.fields[a.field]) {
			return hashed, false
		}
		kind = summed
	}
	return kind, true
}

// count takes the counted or the summed plan on an index, if that can answer.
func (p *Plan) count(ix *mango.Index, wants selector.Conjunction) {
	r := p.r
	kind, ok := r.has(ix)
	if !ok {
		return
	}
	// Columns that the selector fixes come first, the groups behind them: then the rows of a group
	// are together.
	fixed := len(wants.Equal)
	last := fixed + len(r.groups)
	if len(ix.Columns) < last {
		return
	}
	var equal []ejson.Value
	for _, column := range ix.Columns[:fixed] {
		v, ok := wants.Equal[column]
		if !ok {
			return
		}
		equal = append(equal, v)
	}
	exist := 0
	byKey := r.byKey() || r.fromEnd()
	for i := range r.groups {
		if !slices.Contains(ix.Columns[fixed:last], r.groups[i].name) {
			return
		}
		if wants.Exists[r.groups[i].name] {
			exist++
		}
		byKey = byKey && ix.Columns[fixed+i] == r.groups[i].name
	}
	for _, column := range ix.Columns[last:] {
		if !wants.Exists[column] {
			return // the index lacks documents that have groups
		}
	}
	for name := range wants.Exists {
		if !slices.Contains(ix.Columns, name) {
			return
		}
	}
	// Without conditions all documents count, so that those without a group are what the rows lack.
	all := fixed == 0 && len(wants.Exists) == 0 && r.partition == ""
	if exist < len(r.groups) && !all {
		return // nobody knows how many documents have no group
	}
	p.kind, p.index, p.equal, p.all = kind, ix, equal, all
	p.byKey, p.fromEnd = byKey && !all && r.byKey(), byKey && !all && r.fromEnd()
}

// stream notes the ordered plan, if an index has the order of the groups, and takes it if documents
// need not be read: to read them in the order of an index costs more than to read all of them.
func (p *Plan) stream(
	ix *mango.Index, wants selector.Conjunction, indexes []*mango.Index, partitionedDB bool,
) error {
	r := p.r
	descending := false
	switch {
	case len(r.order) == 1 && r.order[0].value == keyTerm:
		descending = r.order[0].descending
	case len(r.order) > 0:
		return nil
	}
	fixed := 0
	for fixed < len(ix.Columns) && wants.Equal[ix.Columns[fixed]].Kind() != ejson.Invalid {
		fixed++
	}
	if len(ix.Columns) < fixed+len(r.groups) {
		return nil
	}
	for i := range r.groups {
		if ix.Columns[fixed+i] != r.groups[i].name || !wants.Exists[r.groups[i].name] {
			return nil
		}
	}
	query, err := r.find(ix.Columns[:fixed+len(r.groups)], descending)
	if err != nil {
		return err
	}
	find, err := mango.NewPlan(query, indexes, partitionedDB, false)
	var refused *compat.Error
	if errors.As(err, &refused) {
		return nil // no index for this order: the plan that there is remains
	}
	if err != nil {
		return err
	}
	if p.inOrder = find; find.Covering() && !p.kind.rowless() {
		p.kind = inOrder
	}
	return nil
}

// estimate tells which plan a request would take now, how it would find documents, and about how many
// rows, entries or documents it would read; -1 where that follows from the groups.
func (p *Plan) estimate(ctx context.Context, src *mango.Source) (kind planKind, find *mango.Plan, n int64, err error) {
	kind, find, n = p.kind, p.find, -1
	if kind == entries {
		var known bool
		if n, known, err = p.entries.estimate(ctx, src); known || err != nil {
			return kind, find, n, err
		}
		kind = hashed
	}
	if kind == inOrder {
		find = p.inOrder
	}
	if !kind.rowless() {
		n, err = find.Estimate(ctx, src)
	}
	return kind, find, n, err
}

// AppendExplain appends what _explain says: what it says of the query for the documents, and with
// "aggregate" how they are put into groups.
func (p *Plan) AppendExplain(ctx context.Context, src *mango.Source, dst []byte, dbName string) ([]byte, error) {
	kind, find, n, err := p.estimate(ctx, src)
	if err != nil {
		return dst, err
	}
	if dst, err = find.AppendExplain(ctx, src, dst, dbName); err != nil {
		return dst, err
	}
	index := find.Index()
	switch {
	case kind == entries:
		index = p.entries.index
	case kind.rowless():
		index = p.index
	}
	dst = append(dst[:len(dst)-1], `,"aggregate":{"plan":`...)
	dst = ejson.AppendString(dst, planNames[kind])
	dst = ejson.AppendString(append(dst, `,"index":{"ddoc":`...), index.DDoc)
	dst = ejson.AppendString(append(dst, `,"name":`...), index.Name)
	dst = ejson.AppendString(append(dst, `},"reads":`...), planReads[kind])
	if n >= 0 {
		dst = strconv.AppendInt(append(dst, `,"estimate":`...), n, 10)
	}
	dst = append(dst, `,"snapshots":"one`...)
	if most := src.DB.SnapshotTime(); most > 0 {
		dst = append(dst, ", and a newer one each "+most.String()...)
	}
	dst = append(dst, `","keeps":`...)
	switch {
	case kind == inOrder:
		dst = append(dst, `"one group"`...)
	case kind.rowless() && (p.byKey || p.fromEnd), kind == entries && (p.r.byKey() || p.r.fromEnd()):
		dst = append(dst, `"the groups of a page"`...)
	case p.inOrder != nil:
		dst = append(dst, `"all groups, or one where they are too many"`...)
	default:
		dst = append(dst, `"all groups"`...)
	}
	return append(dst, "}}"...), nil
}
