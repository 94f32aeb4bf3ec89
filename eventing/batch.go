package eventing

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/eventing/alarm"
	"github.com/settee-db/settee/eventing/debug"
	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/eventing/n1ql"
	"github.com/settee-db/settee/eventing/schedule"
	"github.com/settee-db/settee/eventing/timers"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/expiry"
	"github.com/settee-db/settee/storage/kv"
)

// item is an event, or a timer that is due, with what is known of it from earlier runs of its
// handler.
type item struct {
	event js.Event
	timer *timers.Timer // nil for a change of a document
	due   *timers.Timer // that is stored and has brought the item: timer, or the one of an event that was held back

	id        string // of the document
	rev       compat.Rev
	seq       storage.Seq
	partition int
	chunk     *chunk // of the reader
	hops      uint64 // how many functions have written one after the other until this change came
	size      int    // bytes
	expired   bool   // a deletion because of the document's expiry

	// superseded says that the document has changed again since: what the handler writes back to it
	// without having read it is left out, and the next event comes for the later change.
	superseded bool
	refusals   []js.EventRefusal // writes of the handler that were refused
	attempt    int               // runs that have failed so far
	// undeliverable says that its dead letter was refused.
	undeliverable bool
	skipped       bool               // a timer that is too late to be fired
	session       *debug.Session     // that holds it back
	schedule      *schedule.Schedule // of a timer that a schedule has made
	failure       *js.EventFailure   // set where the handler is not run any more
	result        *js.EventResult    // of the last run
}

// docKey names a document of the store.
type docKey struct{ database, id string }

// docState is a document as a batch has read and written it. A document may be read, written, or
// both.
type docState struct {
	read bool // as it was before the batch: with this revision, zero if it is not there
	rev  compat.Rev
	body []byte
	// expiry is when it expires, as it was read or written; milliseconds since 1970, 0 for never.
	expiry int64

	// replaces is set where a handler has been told the revision that its write makes: the commit
	// has to make that of what is written in the end, next.
	replaces *replaced
	next     compat.Rev

	written   bool
	deleted   bool
	after     []byte // the body, of one that is not deleted
	by        *item
	recursion bool // the function wants to see it as an event
	back      bool // it is the document of the event, which was not read again: rev is the event's
	dead      bool // a dead letter
}

// batch is one run of the handlers of some items: what they have read, and what they write, until
// that is committed or thrown away. It is used by one goroutine at a time.
type batch struct {
	ownerView
	ctx     context.Context // of the run
	items   []*item
	current int // the item whose handler is running
	docs    map[docKey]*docState
	timers  map[timers.Name]*timers.Timer // nil: cancelled
	// seen are timers that handlers have asked for, and whether they were there before the batch.
	seen map[timers.Name]bool
	// effects are those of the running handler as far as they were flushed, and those of its
	// queries; own is what they make of documents.
	effects []js.EventEffect
	own     map[docKey]*docState
	queries
	mail
	plans  *[]*n1ql.Plan // of the statements that ran, in a test
	size   int           // bytes of bodies and contexts that handlers have written
	forged bool          // a result cannot be: its item has failed, and the batch has to run again without it
	again  bool          // the run has ended at an item that is tried again
	failed error         // why the run could not go on

	speculation
}

// newBatch begins a run over items. Results of an earlier run of the same items are dropped, and
// what they held is given back; h is the holding of all runs.
func (f *function) newBatch(items []*item, h *holding) *batch {
	b := &batch{
		ownerView: ownerView{f: f, holding: h, dbs: make(map[string]*documents.Database)},
		items:     items, docs: make(map[docKey]*docState),
		timers: make(map[timers.Name]*timers.Timer), seen: make(map[timers.Name]bool),
		speculation: speculation{decided: make(chan struct{})},
	}
	h.again()
	for _, it := range items {
		it.result = nil
	}
	return b
}

// open reads a document as a handler sees it: as the handlers before it in the batch have left it,
// else as it is in the store. The commit verifies what was read in the store.
func (b *batch) open(ctx context.Context, key docKey) (state *docState, err error) {
	if state := b.own[key]; state != nil {
		return state, nil
	}
	state = b.docs[key]
	if state != nil && state.written {
		return state, nil
	}
	return b.read(ctx, key)
}

// read reads a document as it is in the store, even if a handler has written it; the commit
// verifies that it has not changed since. If the batch before is writing the document it waits
// until that is stored. state.read is also set for a document that is not there, which the commit
// verifies likewise.
func (b *batch) read(ctx context.Context, key docKey) (*docState, error) {
	state := b.docs[key]
	if state != nil && state.read {
		return state, nil
	}
	if b.before != nil && b.before.writes(key) {
		if err := b.await(ctx); err != nil {
			return nil, err
		}
	}
	d, err := b.database(ctx, key.database)
	if err != nil {
		return nil, err
	}
	if compat.IsLocalID(key.id) {
		return nil, compat.NewError(compat.KindBadRequest, "Functions cannot read local documents")
	}
	doc, expires, err := openWithExpiry(ctx, d, key.id)
	// Where documents can be hidden, a missing one may be a hidden one, and the commit could not
	// verify that there is none.
	if err != nil && (d.Hides() || !errors.Is(err, compat.KindNotFound)) {
		return nil, err
	}
	if err == nil {
		if err := b.holding.take(ctx, int64(len(doc.Body))); err != nil {
			return nil, err
		}
	}
	if state == nil {
		state = &docState{}
		b.docs[key] = state
	}
	state.read = true
	if err == nil {
		state.rev, state.body = doc.Rev, doc.Body
		if !state.written {
			state.expiry = expires
		}
	}
	return state, nil
}

// openWithExpiry reads a document, and when it expires.
func openWithExpiry(
	ctx context.Context,
	d *documents.Database,
	id string,
) (doc *docread.Document, ms int64, err error) {
	if d.Hides() {
		doc, err = d.Open(ctx, id, docread.OpenOptions{})
		return doc, 0, err
	}
	err = d.Bare().ViewAgain(ctx, func(s *storage.Snapshot) error {
		if doc, err = s.Open(id, docread.OpenOptions{}); err != nil {
			return err
		}
		times, err := expiry.Of(s, []storage.ReadRev{{ID: id, Rev: doc.Rev}})
		if err == nil {
			ms = times[0]
		}
		return err
	})
	return doc, ms, err
}

// take merges what a handler has done into the batch.
func (b *batch) take(i int, r *js.EventResult) {
	it := b.items[i]
	it.result = r
	b.current = i + 1
	effects := append(b.effects, r.Effects...)
	b.forget()
	if it.schedule != nil { // whatever has become of this call
		b.timers[it.timer.Name] = nextCall(b.f, it.schedule)
	}
	if r.Outcome != js.EventDone {
		return
	}
	for n := range effects {
		if !b.merge(it, &effects[n]) {
			return
		}
	}
}

// forget drops what the running handler has flushed so far, and closes its queries: its effects are
// in the result, or it has no result.
func (b *batch) forget() {
	b.effects, b.own = nil, nil
	b.closeAll()
}

// merge adds an effect to what is committed. It is false if the effect is one that the function
// cannot have, which only a worker process that was taken over would send: the item has failed
// then.
func (b *batch) merge(it *item, e *js.EventEffect) bool {
	switch e.Kind {
	case js.EffectSet, js.EffectDelete:
		if !b.f.writes(e.Database) {
			it.failure = &js.EventFailure{Name: "EventingError", Message: "a write to a database that is not bound"}
			b.forged = true
			return false
		}
		b.write(it, e)
	case js.EffectCreateTimer:
		if it.event.Kind == js.EventUndeploy {
			b.f.fail(it, "EventingError", "OnUndeploy cannot make timers: nothing would fire them")
			b.forged = true
			return false
		}
		name := timers.Name{Callback: e.Callback, Reference: e.Reference}
		b.timers[name] = &timers.Timer{Name: name, Partition: it.partition, Due: e.Due, Context: e.Context}
		b.size += len(e.Context)
	case js.EffectCancelTimer:
		b.timers[timers.Name{Callback: e.Callback, Reference: e.Reference}] = nil
	case js.EffectPublish:
		return publish(b, it, e)
	}
	return true
}

// write notes what becomes of a document. Handlers later in the batch see it, and only the last
// write of each document is committed. A write to the document of the event itself, which the
// handler did not read, replaces the revision of the event only: if the document has changed since,
// the write is left out, and the event of the later change decides.
func (b *batch) write(it *item, e *js.EventEffect) {
	key := docKey{e.Database, e.ID}
	state := b.docs[key]
	if state == nil {
		state = &docState{}
		b.docs[key] = state
	}
	own := it.timer == nil && key == docKey{b.f.source, it.id}
	if own && (state.back || !state.read && !state.written) {
		// Written back without being read again: it replaces what the event was about, and nothing
		// later.
		if it.superseded {
			b.f.stats.count(superseded, 1)
			return
		}
		state.read, state.back, state.rev = true, true, it.rev
	}
	state.written, state.deleted, state.after = true, e.Kind == js.EffectDelete, e.Body
	state.by, state.recursion, state.expiry = it, e.SelfRecursion, e.Expiry
	b.size += len(e.Body)
}

// changes reports whether there is anything to commit. Timers that fired always count, because they
// have to be removed.
func (b *batch) changes() bool {
	if len(b.timers) > 0 || len(b.messages) > 0 {
		return true
	}
	for _, it := range b.done() {
		if it.due != nil {
			return true
		}
	}
	for _, state := range b.docs {
		if state.written {
			return true
		}
	}
	return false
}

// refused is the error of a batch with writes that cannot be done: their items know of it.
var errRefused = errors.New("eventing: writes of the batch were refused")

// refuse lets a handler know that a write of it is not accepted, in its next run.
func (b *batch) refuse(key docKey, state *docState, err *compat.Error) {
	if state.dead {
		state.by.undeliverable = true
		b.f.log.Say("the dead letter " + key.id + " was refused by " + key.database + ": " + err.Reason)
		return
	}
	state.by.refusals = append(state.by.refusals, js.EventRefusal{
		Database: key.database, ID: key.id, Err: *eventError(err),
	})
}

// parts sorts the reads and edits of the batch by database. Deleting what was read as missing is
// only a read. The error is errRefused if some edits cannot be made; their handlers are told.
func (b *batch) parts(ctx context.Context) ([]documents.CommitPart, []string, error) {
	var names []string
	var parts []documents.CommitPart
	at := make(map[string]int)
	p := newEditParser()
	refused := false
	// All databases of a batch are written in one transaction, so that each has one part.
	for key, state := range b.docs {
		if !state.read && !state.written {
			continue // a write was left out
		}
		d, err := b.database(ctx, key.database)
		if refusal, ok := compat.AsError(err); ok && state.written {
			b.refuse(key, state, refusal)
			refused = true
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		i, known := at[key.database]
		if !known {
			i = len(parts)
			at[key.database] = i
			names = append(names, key.database)
			parts = append(parts, documents.CommitPart{Database: d, Stored: b.stored})
		}
		part := &parts[i]
		if !state.written || state.deleted && state.read && state.rev.IsZero() {
			part.Reads = append(part.Reads, storage.ReadRev{ID: key.id, Rev: state.rev})
			continue
		}
		edit, err := p.edit(ctx, d, key, state)
		if refusal, ok := compat.AsError(err); ok {
			b.refuse(key, state, refusal)
			refused = true
		} else if err != nil {
			return nil, nil, err
		} else if state.replaces != nil {
			state.next = state.replaces.by(edit.Doc)
		}
		part.Edits = append(part.Edits, edit)
	}
	if refused {
		return nil, nil, errRefused
	}
	return parts, names, nil
}

// stored writes what belongs to the revisions of one database, in the same transaction: their
// origins where the database is a function's source, so that a function does not see its own writes
// as events, and when they expire.
func (b *batch) stored(x *storage.Tx, results []storage.EditResult) error {
	// Its own source a function knows, whether this process has seen already that it is deployed or
	// not.
	source := x.Name() == b.f.source || b.f.engine.isSource(x.Name())
	// Marks belong to revisions that the commit has made: those of a commit that is tried again are
	// made anew.
	for i := range results {
		id, rev := results[i].ID, results[i].Rev
		state := b.docs[docKey{x.Name(), id}]
		if rev.IsZero() {
			continue
		}
		if state.replaces != nil && rev != state.next {
			return errStale // over another tombstone
		}
		if source {
			b.f.origin(state).Set(x, id, rev)
		}
		if state.expiry > 0 && !state.deleted {
			expiry.Set(x, id, rev, state.expiry)
		}
	}
	return nil
}

// editParser reads what handlers have written.
type editParser struct {
	of   map[string]*documents.Parser // by database
	text []byte                       // room for one document
}

func newEditParser() *editParser { return &editParser{of: make(map[string]*documents.Parser)} }

// edit makes the edit of a document that handlers have written.
func (p *editParser) edit(
	ctx context.Context,
	d *documents.Database,
	key docKey,
	state *docState,
) (e storage.Edit, err error) {
	e.Over = !state.read
	if compat.IsLocalID(key.id) {
		return e, compat.NewError(compat.KindBadRequest, "Functions cannot write local documents")
	}
	if state.deleted {
		e.Doc = &compat.Document{ID: key.id, HasID: true, Deleted: true, Body: documents.EmptyBody()}
	} else {
		if len(state.after) < 2 || state.after[0] != '{' {
			return e, compat.NewError(compat.KindBadRequest, "Document must be a JSON object")
		}
		p.text = ejson.AppendString(append(p.text[:0], `{"_id":`...), key.id)
		if state.after[1] != '}' {
			p.text = append(p.text, ',')
		}
		p.text = append(p.text, state.after[1:]...)
		parser := p.of[key.database]
		if parser == nil {
			if parser, err = d.Parser(ctx, false); err != nil {
				return e, err
			}
			p.of[key.database] = parser.AnyParent()
		}
		if e.Doc, err = parser.ParseText(p.text); err != nil { // which is not a part of the document
			return e, err
		}
	}
	if state.read && !state.rev.IsZero() {
		e.Doc.Revs = compat.RevPath{Start: state.rev.Pos, IDs: []string{state.rev.Hash}}
	}
	return e, nil
}

// origin is where a document comes from that the function writes.
func (f *function) origin(state *docState) feed.Origin {
	if state.recursion {
		return feed.Origin{Hops: state.by.hops}
	}
	return feed.Origin{Instance: f.instance, Hops: state.by.hops + 1}
}

// errTimerGone is the error of a batch one of whose timers is not there any more, because it was
// cancelled, replaced or fired. The item is dropped, and the batch runs again without it.
type errTimerGone struct{ item *item }

// Error implements error.
func (errTimerGone) Error() string { return "eventing: a timer was changed while its callback ran" }

// errTimerRead is the error of a batch that has asked whether a timer exists, and the answer has
// changed since.
var errTimerRead = errors.New("eventing: a timer that was asked for has changed")

// applyTimers writes the timers of the batch in its transaction: it verifies those that handlers
// have asked for, removes those that fired, and sets or cancels the others. Each check conflicts
// with transactions that change the same timer meanwhile.
func (b *batch) applyTimers(tx kv.Tx) error {
	list := b.f.space.timers()
	for name, was := range b.seen {
		found, err := list.Has(tx, name)
		if err != nil {
			return err
		}
		if found != was {
			return errTimerRead
		}
	}
	for _, it := range b.done() {
		if it.due == nil {
			continue
		}
		there, err := list.Fired(tx, it.due)
		if err != nil {
			return err
		}
		if !there {
			return errTimerGone{it}
		}
	}
	for name, t := range b.timers {
		var err error
		if t == nil {
			_, err = list.Clear(tx, name)
		} else {
			err = list.Set(tx, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// manyEdits is the number of edits from which on the batches of a function are stored one after the
// other. The ids of different workers' documents lie between each other's, and transactions that make
// many of them conflict over the counts of ids (package rank): one of two would be made again.
// Batches that publish are stored so, too, so that the room in the outbox which one has found is
// still there when it is stored.
const manyEdits = 16

// commit stores what the handlers did, together with what move does, in one transaction. Batches of
// manyEdits and more, or with messages, wait for each other. The error is errStale or errRefused if
// the handlers have to run again.
func (b *batch) commit(ctx context.Context, move func(tx kv.Tx) error) error {
	parts, names, err := b.parts(ctx)
	if err != nil {
		return err
	}
	edits := 0
	for i := range parts {
		edits += len(parts[i].Edits)
	}
	if edits >= manyEdits || len(b.messages) > 0 {
		select {
		case b.f.storing <- struct{}{}:
			defer func() { <-b.f.storing }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err = b.f.engine.docs.Commit(ctx, func(tx kv.Tx) error {
		if err := move(tx); err != nil {
			return err
		}
		if err := b.post(b.f, tx); err != nil {
			return err
		}
		return b.applyTimers(tx)
	}, parts)
	var found *storage.CommitError
	if !errors.As(err, &found) {
		return err
	}
	return b.stands(found, names)
}

// errStale is the error of a batch that has read documents which have changed since.
var errStale = errors.New("eventing: documents have changed while handlers ran")

// stands tells the items why the commit was not possible: which documents have changed, and which
// writes were refused by a validation function or the database.
func (b *batch) stands(found *storage.CommitError, names []string) error {
	for _, d := range slices.Concat(found.Read, found.Stale) {
		key := docKey{names[d.Database], d.ID}
		state := b.docs[key]
		if state != nil && state.back {
			state.by.superseded = true
		}
	}
	if len(found.Refused) == 0 {
		return errStale
	}
	for _, d := range found.Refused {
		for key, state := range b.docs {
			if key.database == names[d.Database] && (d.ID == "" || d.ID == key.id) && state.written {
				b.refuse(key, state, d.Err)
			}
		}
	}
	return errRefused
}

// never is later than all timers.
const never = alarm.Never

// pause is how long to wait before the n-th new run of something: it doubles from least on, up to
// most.
func pause(n int, least, most time.Duration) time.Duration {
	if n > 20 {
		return most
	}
	return min(least<<max(n-1, 0), most)
}
