package eventing

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/eventing/n1ql"
	"github.com/settee-db/settee/eventing/n1ql/lex"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/expiry"
)

// queries are the statements of the running handler that are not at their end. The zero value has
// none.
type queries struct {
	open map[uint64]*openQuery
	last uint64
}

// openQuery is one of them.
type openQuery struct {
	rows   *n1ql.Rows
	cancel context.CancelFunc
	within *openStatement
}

func (q *openQuery) close() {
	q.rows.Close()
	q.cancel()
	q.within.end()
}

// openStatement is the keyspaces of one statement, and what it holds of memory.
type openStatement struct {
	*batch
	held int64
	plan *n1ql.Plan // nil unless it is kept
}

// Open implements n1ql.Keyspaces.
func (s *openStatement) Open(ctx context.Context, name string) (n1ql.Keyspace, error) {
	k, err := s.keyspace(ctx, name)
	if err != nil {
		return nil, err
	}
	k.plan = s.plan
	return k, nil
}

// Hold implements n1ql.Keyspaces.
func (s *openStatement) Hold(bytes int) error {
	if err := s.holding.take(s.ctx, int64(bytes)); err != nil {
		return limited(err)
	}
	s.held += int64(bytes)
	return nil
}

func (s *openStatement) end() {
	s.holding.give(s.held)
	s.held = 0
}

// limited makes a want of memory one of the statement.
func limited(err error) error {
	if errors.Is(err, errNoMemory) {
		return &n1ql.Error{Kind: n1ql.KindLimit, Message: errNoMemory.Reason}
	}
	return err
}

func (q *queries) add(rows *n1ql.Rows, cancel context.CancelFunc, within *openStatement) uint64 {
	if q.open == nil {
		q.open = make(map[uint64]*openQuery)
	}
	q.last++
	q.open[q.last] = &openQuery{rows, cancel, within}
	return q.last
}

// CloseQuery implements js.EventHost.
func (q *queries) CloseQuery(handle uint64) {
	if one := q.open[handle]; one != nil {
		one.close()
		delete(q.open, handle)
	}
}

func (q *queries) closeAll() {
	for handle := range q.open {
		q.CloseQuery(handle)
	}
}

// Query implements js.EventHost.
func (b *batch) Query(running context.Context, q js.EventQuery) (handle uint64, changed bool, err error) {
	statement, err := b.f.engine.parse(q.Text)
	if err != nil {
		return 0, false, queryError(err)
	}
	bound, err := statement.Bind(q.Params)
	if err != nil {
		return 0, false, queryError(err)
	}
	// Rows are fetched long after this call; the handler's own time ends them.
	ctx, cancel := context.WithTimeout(b.ctx, b.f.timeout())
	if q.Check {
		defer cancel()
		for _, name := range bound.Keyspaces() {
			if _, err := b.keyspace(ctx, name); err != nil {
				return 0, false, queryError(err)
			}
		}
		return 0, false, nil
	}
	if err := b.await(running); err != nil {
		cancel()
		return 0, false, err
	}
	before := len(b.effects)
	within := &openStatement{batch: b, plan: b.newPlan(q.Text)}
	rows, err := bound.Rows(ctx, within)
	changed = len(b.effects) > before
	if err != nil {
		cancel()
		within.end()
		return 0, changed, queryError(err)
	}
	return b.queries.add(rows, cancel, within), changed, nil
}

const (
	// crossingRows and crossingBytes bound the rows that cross to a worker process at once.
	crossingRows  = 100
	crossingBytes = 256 << 10
)

// Rows implements js.EventHost.
func (b *batch) Rows(ctx context.Context, handle uint64) (rows [][]byte, done bool, err error) {
	q := b.queries.open[handle]
	if q == nil {
		return nil, true, nil
	}
	if err := b.lookAtOwner(ctx); err != nil {
		return nil, true, err
	}
	for size := 0; len(rows) < crossingRows && size < crossingBytes; {
		row, ok, err := q.rows.Next()
		if err != nil {
			b.CloseQuery(handle)
			return nil, true, queryError(err)
		}
		if !ok {
			b.CloseQuery(handle)
			return rows, true, nil
		}
		rows = append(rows, row)
		size += len(row)
		if err := b.holding.cross(ctx, 2*int64(size)); err != nil {
			b.CloseQuery(handle)
			return nil, true, queryError(limited(err))
		}
	}
	return rows, false, nil
}

const (
	// cachedStatements is how many bytes of statements that were read are kept, each of which takes
	// about statementSize for a byte of its text.
	cachedStatements = 16 << 20
	statementSize    = 60
)

// parse reads a statement, or finds it among those that were read lately.
func (e *Engine) parse(text string) (*n1ql.Statement, error) {
	return e.statements.Load(text, func() (*n1ql.Statement, error) { return n1ql.Parse(text) })
}

// queryError makes an error of a statement one that the handler sees.
func queryError(err error) error {
	var wrong *lex.SyntaxError
	var failed *n1ql.Error
	e := &js.EventError{Class: "N1QLError"}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		e.Code, e.Name, e.Desc = 3000, "syntax_error", wrong.Message
	case errors.As(err, &failed):
		e.Code, e.Name, e.Desc = queryCodes[failed.Kind].code, queryCodes[failed.Kind].name, failed.Message
	default:
		refused, ok := compat.AsError(err)
		if !ok {
			return err
		}
		e.Code, e.Name, e.Desc = refused.Status(), refused.Word(), refused.Reason
	}
	return e
}

// queryCodes are the numbers that Couchbase's query service has for such errors, or of their kind.
var queryCodes = map[n1ql.ErrorKind]struct {
	code int
	name string
}{
	n1ql.KindInvalid:   {5010, "invalid_value"},
	n1ql.KindKeyspace:  {12003, "keyspace_not_found"},
	n1ql.KindForbidden: {13014, "forbidden"},
	n1ql.KindDuplicate: {12009, "duplicate_key"},
	n1ql.KindConflict:  {12009, "cas_mismatch"},
	n1ql.KindMissing:   {12009, "key_not_found"},
	n1ql.KindLimit:     {5500, "memory_limit"},
}

// keyspace finds a keyspace by the name in a statement.
func (b *batch) keyspace(ctx context.Context, name string) (*batchDB, error) {
	database, writable, bound := boundTo(b.f.bindings, b.f.source, name)
	if !bound {
		return nil, &n1ql.Error{
			Kind: n1ql.KindKeyspace, Message: "Keyspace not found: " + name + " is not bound to the function",
			Keyspace: name,
		}
	}
	d, err := b.database(ctx, database)
	if e, ok := compat.AsError(err); ok {
		return nil, &n1ql.Error{Kind: n1ql.KindForbidden, Message: e.Reason, Keyspace: name}
	}
	if err != nil {
		return nil, err
	}
	return &batchDB{b: b, d: d, alias: name, name: database, writable: writable}, nil
}

// batchDB is a database in a statement, with what the batch has written there.
type batchDB struct {
	b        *batch
	d        *documents.Database
	alias    string // the keyspace's name in the statement
	name     string // the database's
	writable bool
	plan     *n1ql.Plan
}

// Get implements n1ql.Keyspace.
func (k *batchDB) Get(ctx context.Context, ids []string) ([]n1ql.Document, error) {
	if err := k.b.openMany(ctx, k.d, ids); err != nil {
		return nil, err
	}
	way := k.plan.Took(k.alias, "ids", "")
	list := make([]n1ql.Document, len(ids))
	for i, id := range ids {
		list[i].ID = id
		if compat.IsDesignID(id) {
			continue
		}
		state, err := k.b.open(ctx, docKey{k.name, id})
		if err != nil {
			return nil, err
		}
		if state.show(&list[i]); list[i].Exists {
			way.Documents++
		}
	}
	return list, nil
}

// show tells a statement of a document.
func (s *docState) show(d *n1ql.Document) {
	switch {
	case s.written && !s.deleted:
		d.Exists, d.Body, d.Expiry = true, s.after, s.expiry/1000
	case !s.written && !s.rev.IsZero():
		d.Exists, d.Body, d.Cas, d.Expiry = true, s.body, s.rev.String(), s.expiry/1000
	}
}

// openMany reads those documents of a list that the batch does not have yet, with one request.
func (b *batch) openMany(ctx context.Context, d *documents.Database, ids []string) error {
	var refs []docread.DocRef
	for _, id := range ids {
		key := docKey{d.Name(), id}
		if state := b.docs[key]; b.own[key] == nil && !compat.IsLocalID(id) &&
			(state == nil || !state.read && !state.written) {
			refs = append(refs, docread.DocRef{ID: id})
		}
	}
	if len(refs) < 2 || d.Hides() {
		return nil
	}
	return d.Bare().ViewAgain(ctx, func(s *storage.Snapshot) error {
		var revs []storage.ReadRev
		var found []*docState
		err := s.OpenEach(refs, func(i int, doc *docread.Document) error {
			state := &docState{read: true}
			if doc != nil {
				if err := b.holding.take(ctx, int64(len(doc.Body))); err != nil {
					return err
				}
				state.rev, state.body = doc.Rev, bytes.Clone(doc.Body)
				revs, found = append(revs, storage.ReadRev{ID: doc.ID, Rev: doc.Rev}), append(found, state)
			}
			b.docs[docKey{d.Name(), refs[i].ID}] = state
			return nil
		})
		if err != nil {
			return err
		}
		times, err := expiry.Of(s, revs)
		for i, ms := range times {
			found[i].expiry = ms
		}
		return err
	})
}

// errEnough ends a search: no more documents are wanted.
var errEnough = errors.New("eventing: enough documents")

// Find implements n1ql.Keyspace. What the batch has written comes last, in place of what is stored.
func (k *batchDB) Find(ctx context.Context, f n1ql.Find) error {
	written := k.written()
	if len(written) > 0 {
		if f.Limit = 0; len(f.Sort) > 0 {
			return &n1ql.Error{Kind: n1ql.KindUnsorted}
		}
	}
	more, err := k.findStored(ctx, f, written)
	if err != nil || !more {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(written)) { // the same in each run of the handlers
		d := n1ql.Document{ID: id}
		if written[id].show(&d); !d.Exists {
			continue
		}
		if more, err := f.Each(&d); err != nil || !more {
			return err
		}
	}
	return nil
}

// written are the documents of the keyspace that handlers have written and that are not stored yet.
func (k *batchDB) written() map[string]*docState {
	list := make(map[string]*docState)
	for _, from := range []map[docKey]*docState{k.b.docs, k.b.own} {
		for key, state := range from {
			if key.database == k.name && state.written {
				list[key.id] = state
			}
		}
	}
	return list
}

// findStored gives the documents that are stored and not written by the batch.
func (k *batchDB) findStored(ctx context.Context, f n1ql.Find, written map[string]*docState) (more bool, err error) {
	engine := k.b.f.engine
	indexes, partitioned, err := engine.catalogue.Indexes(ctx, k.d.Bare())
	if err != nil {
		return false, err
	}
	// An index with ids orders them as Unicode does, where selectors and statements compare their
	// bytes. A text index compares values of one type only.
	indexes = slices.DeleteFunc(slices.Clone(indexes), func(ix *mango.Index) bool {
		return ix.Kind == mango.KindJSON && slices.Contains(ix.Columns, "_id") || ix.Kind.IsText()
	})
	body, err := ejson.Parse(f.AppendRequest(nil))
	if err != nil {
		return false, err
	}
	request, err := mango.ParseRequest(body, mango.Defaults{})
	if err != nil {
		return false, err
	}
	plan, err := mango.NewPlan(request, indexes, partitioned, false)
	if err != nil {
		return false, err
	}
	if plan.Nothing() {
		return true, nil
	}
	if f.Indexed && (f.Selector == nil || plan.Index().Kind == mango.KindAllDocs) {
		k.plan.Took(k.alias, "unindexed", "")
		return false, &n1ql.Error{Kind: n1ql.KindUnindexed}
	}
	keep, end := k.b.holding.sorting()
	defer end()
	source := &mango.Source{DB: k.d.Bare(), Views: engine.o.Views, AllFields: engine.o.AllFields, Keep: keep}
	if k.d.Hides() {
		source.Shown = func(d *docread.Document) error {
			err := k.d.Show(ctx, d)
			if errors.Is(err, compat.ErrMissing) {
				return mango.ErrHidden
			}
			return err
		}
	}
	way, err := k.wayOf(ctx, &f, plan, source)
	if err != nil {
		return false, err
	}
	_, err = plan.Find(ctx, source, func(doc []byte) error {
		d, err := n1ql.DocumentOf(doc)
		if err != nil || compat.IsDesignID(d.ID) || written[d.ID] != nil {
			return err
		}
		if f.Expiry {
			if err := k.readExpiry(ctx, &d); err != nil {
				return err
			}
		}
		way.Documents++
		more, err := f.Each(&d)
		if err == nil && !more {
			return errEnough
		}
		return err
	})
	if errors.Is(err, errEnough) {
		return false, nil
	}
	return true, err
}

// readExpiry finds out when a document expires that a search has found.
func (k *batchDB) readExpiry(ctx context.Context, d *n1ql.Document) error {
	rev, err := compat.ParseRev(d.Cas)
	if err != nil || k.d.Hides() {
		return err
	}
	return k.d.Bare().ViewAgain(ctx, func(s *storage.Snapshot) error {
		times, err := expiry.Of(s, []storage.ReadRev{{ID: d.ID, Rev: rev}})
		if err == nil {
			d.Expiry = times[0] / 1000
		}
		return err
	})
}

// Write implements n1ql.Keyspace.
func (k *batchDB) Write(ctx context.Context, w n1ql.Write) error {
	fail := func(kind n1ql.ErrorKind, message string) error {
		return &n1ql.Error{Kind: kind, Message: message, Keyspace: k.name, ID: w.ID}
	}
	if !k.writable {
		return fail(n1ql.KindForbidden, "keyspace "+k.name+" is bound for reading only")
	}
	if w.Expect != n1ql.ExpectAny {
		state, err := k.b.open(ctx, docKey{k.name, w.ID})
		if err != nil {
			return err
		}
		var now n1ql.Document
		state.show(&now)
		switch {
		case w.Expect == n1ql.ExpectMissing && now.Exists:
			return fail(n1ql.KindDuplicate, "Duplicate Key: "+w.ID)
		case w.Expect == n1ql.ExpectCas && !now.Exists:
			return fail(n1ql.KindMissing, "Key not found: "+w.ID)
		case w.Expect == n1ql.ExpectCas && now.Cas != w.Cas:
			return fail(n1ql.KindConflict, "CAS mismatch: "+w.ID)
		}
	}
	e := js.EventEffect{Kind: js.EffectSet, Database: k.name, ID: w.ID, Body: w.Body, Expiry: w.Expiry * 1000}
	if w.Expiry > 0 && w.Expiry <= n1ql.MaxRelativeExpiry {
		e.Expiry += time.Now().UnixMilli()
	}
	if w.Delete {
		e = js.EventEffect{Kind: js.EffectDelete, Database: k.name, ID: w.ID}
	}
	return limited(k.b.apply(&e))
}
