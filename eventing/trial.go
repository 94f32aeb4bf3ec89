package eventing

import (
	"context"
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/eventing/n1ql"
	"github.com/settee-db/settee/eventing/outbox"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// trial is what a client wants to see a handler do.
type trial struct {
	// ID is a document of the source; Doc is one that need not be there. With Delete it is OnDelete
	// that is called.
	ID     string          `json:"id"`
	Doc    json.RawMessage `json:"doc"`
	Delete bool            `json:"delete"`
	// Timer is a callback that is called with Context instead.
	Timer   string          `json:"timer"`
	Context json.RawMessage `json:"context"`
}

// trialAnswer is what it would have done.
type trialAnswer struct {
	Outcome string       `json:"outcome"` // success, failure, timeout, skipped
	Error   *trialError  `json:"error,omitempty"`
	Log     []string     `json:"log"`
	Writes  []trialWrite `json:"writes"`
	Timers  []trialTimer `json:"timers"`
	// Published are the messages that it would have published.
	Published []outbox.Shown `json:"published"`
	// Statements are those that ran, with the ways in which they have read.
	Statements []*n1ql.Plan `json:"statements"`
	Took       int64        `json:"took_us"`
}

type trialError struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Stack   string `json:"stack,omitempty"`
}

type trialWrite struct {
	Database string          `json:"database"`
	ID       string          `json:"id"`
	Deleted  bool            `json:"deleted,omitempty"`
	Doc      json.RawMessage `json:"doc,omitempty"`
	Refused  string          `json:"refused,omitempty"` // why it could not be stored
}

type trialTimer struct {
	Callback  string          `json:"callback"`
	Reference string          `json:"reference"`
	Due       string          `json:"due,omitempty"`
	Context   json.RawMessage `json:"context,omitempty"`
	Cancelled bool            `json:"cancelled,omitempty"`
}

var trialOutcomes = map[js.EventOutcome]string{
	js.EventDone: "success", js.EventFailed: "failure", js.EventTimedOut: "timeout", js.EventSkipped: "skipped",
}

// Test runs a handler of a function, deployed or not, on what request says, with the rights of who
// asks. What it reads is there; what it writes is shown in the answer, which is JSON, and not
// applied. Requests to other servers are made.
func (e *Engine) Test(
	ctx context.Context,
	d *definition.Function,
	who registry.Principal,
	request json.RawMessage,
) (json.RawMessage, *definition.Error) {
	var t trial
	if err := json.Unmarshal(request, &t); err != nil {
		return nil, definition.Errorf(definition.CodeInvalidRequest, "the test cannot be read: %v", err)
	}
	if _, wrong := e.Compile(ctx, d); wrong != nil {
		return nil, wrong
	}
	who.External = true // with the roles that the request has
	f, err := e.prepare(&registry.Record{Draft: d, Owner: who})
	if err != nil {
		return nil, definition.AsError(err)
	}
	defer f.close()
	f.stats, f.log, f.maxRetries = newStatistics(), e.logs.Apart(f.ref), 0
	it, err := f.tried(ctx, &t)
	if refused, ok := compat.AsError(err); ok {
		return nil, definition.Errorf(definition.CodeInvalidRequest, "%s: %s", t.ID, refused.Reason)
	}
	if err != nil {
		return nil, definition.AsError(err)
	}
	h := f.newHolding()
	defer h.forget()
	b := f.newBatch([]*item{it}, h)
	b.plans = &[]*n1ql.Plan{}
	if b.run(ctx); b.failed != nil {
		return nil, definition.AsError(b.failed)
	}
	_, _, err = b.parts(ctx)
	if err != nil && len(it.refusals) == 0 {
		return nil, definition.AsError(err)
	}
	text, err := definition.JSON(b.answer(it))
	if err != nil {
		return nil, definition.AsError(err)
	}
	return text, nil
}

// tried makes the event of a test from the request: a timer, a deletion, a document that is given,
// or else the stored document of the id.
func (f *function) tried(ctx context.Context, t *trial) (*item, error) {
	switch {
	case t.Timer != "":
		it := &item{event: js.Event{Kind: js.EventTimer, Callback: t.Timer, Context: t.Context}, id: t.ID}
		return it, nil
	case t.Doc == nil && !t.Delete:
		owner, err := f.principal(ctx)
		if err != nil {
			return nil, err
		}
		d, err := openSource(ctx, f, owner)
		if err != nil {
			return nil, err
		}
		doc, err := d.Open(ctx, t.ID, docread.OpenOptions{})
		if err != nil {
			return nil, err
		}
		ch := &storage.Change{ID: t.ID, Revs: []compat.Rev{doc.Rev}, Doc: doc}
		it := &item{id: t.ID, rev: doc.Rev, partition: feed.PartitionOf(t.ID)}
		meta := feed.AppendExpiry(feed.AppendMeta(nil, f.source, ch, it.partition), 0)
		it.event = js.Event{Kind: js.EventUpdate, Meta: meta, Doc: doc.Body}
		return it, nil
	}
	if t.ID == "" {
		t.ID = "test"
	}
	ch := &storage.Change{ID: t.ID, Revs: []compat.Rev{{Pos: 1, Hash: strings.Repeat("\x00", 16)}}, Deleted: t.Delete}
	it := &item{id: t.ID, rev: ch.Revs[0], partition: feed.PartitionOf(t.ID)}
	meta := feed.AppendExpiry(feed.AppendMeta(nil, f.source, ch, it.partition), 0)
	it.event = js.Event{Kind: js.EventUpdate, Meta: meta, Doc: t.Doc}
	if t.Delete {
		it.event.Kind, it.event.Doc, it.event.Options = js.EventDelete, nil, []byte(`{"expired":false}`)
		return it, nil
	}
	v, err := ejson.Parse(slices.Clone([]byte(t.Doc)))
	if err != nil || v.Kind() != ejson.Object {
		return nil, compat.NewError(compat.KindBadRequest, "doc must be a JSON object")
	}
	return it, nil
}

// answer makes the JSON of what the batch, which has one item, would have stored.
func (b *batch) answer(it *item) *trialAnswer {
	r := it.result
	a := &trialAnswer{
		Outcome: trialOutcomes[r.Outcome], Log: append([]string{}, r.Logs...), Writes: []trialWrite{},
		Timers: []trialTimer{}, Published: []outbox.Shown{}, Statements: *b.plans, Took: r.Took.Microseconds(),
	}
	if f := r.Failure; f != nil {
		a.Error = &trialError{Name: f.Name, Message: f.Message, Line: f.Line, Column: f.Column, Stack: f.Stack}
	}
	refused := make(map[docKey]string)
	for _, no := range it.refusals {
		refused[docKey{no.Database, no.ID}] = no.Err.Desc
	}
	for key, state := range b.docs {
		if state.written {
			a.Writes = append(a.Writes, trialWrite{
				Database: key.database, ID: key.id, Deleted: state.deleted, Doc: state.after, Refused: refused[key],
			})
		}
	}
	sort.Slice(a.Writes, func(i, j int) bool {
		x, y := &a.Writes[i], &a.Writes[j]
		return x.Database+"\x00"+x.ID < y.Database+"\x00"+y.ID
	})
	for name, t := range b.timers {
		shown := trialTimer{Callback: name.Callback, Reference: name.Reference, Cancelled: t == nil}
		if t != nil {
			shown.Due, shown.Context = time.UnixMilli(t.Due).UTC().Format(time.RFC3339Nano), t.Context
		}
		a.Timers = append(a.Timers, shown)
	}
	for _, m := range b.messages {
		a.Published = append(a.Published, m.Show())
	}
	sort.Slice(a.Timers, func(i, j int) bool { return a.Timers[i].Due < a.Timers[j].Due })
	return a
}
