package designs

import (
	"context"
	"errors"
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/views/reduce"
)

// The bounds of a request to _design_test: its documents, and the bytes of what functions give.
const (
	trialDocs  = 20
	trialBytes = 1 << 20
)

var (
	errTrialKind = compat.NewError(compat.KindBadRequest, "kind must be map, filter, update, show, list or validate")
	errTrialDocs = compat.NewError(compat.KindBadRequest, "docs must be a list of 1 to 20 ids")
	errTrialSize = compat.Named(compat.KindError, "too_large", "the functions gave more than 1 MB")
)

// trial is one request to _design_test: which function runs with which documents.
type trial struct {
	*documents.Trial
	c              *call.Call
	kind, name     string
	path           []string // of the function in the design document
	source, reduce string   // of a map function, and of the reduce function of its view
	view           string   // whose rows a list function gets, "": those of _all_docs
	lib            []byte
	req            []byte
	user, security []byte
	change         []byte // the new document for a validation function, nil: the stored one

	answer []byte
	rows   []js.ReduceRow
	listed []listedRow
}

// testDesign serves POST /{db}/_design_test, an extension: functions of a design document that is
// in the body run with up to 20 documents, and what they give is told. Nothing is stored. A function
// that does not come to an end costs its time once: the documents after it are not tried.
func testDesign(c *call.Call) error {
	body, err := c.JSONRequest()
	if err != nil {
		return err
	}
	t, err := newTrial(c, body)
	if err != nil {
		return err
	}
	ids, err := trialIDs(body)
	if err != nil {
		return err
	}
	t.answer = append(t.answer, `{"results":[`...)
	for i, id := range ids {
		if i > 0 {
			t.answer = append(t.answer, ',')
		}
		stop, err := t.one(id)
		if err != nil {
			return err
		}
		if stop {
			break
		}
	}
	t.answer = append(t.answer, ']')
	switch {
	case t.kind == "list":
		err = t.list()
	case t.reduce != "" && len(t.rows) > 0:
		err = t.reduced()
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, append(t.answer, '}'))
}

// newTrial finds the function and makes its arguments.
func newTrial(c *call.Call, body ejson.Value) (*trial, error) {
	ddoc, _ := body.Get("ddoc")
	if ddoc.Kind() != ejson.Object {
		return nil, compat.NewError(compat.KindBadRequest, "ddoc must be a design document")
	}
	t := &trial{c: c, kind: textOf(body, "kind"), name: textOf(body, "name")}
	switch t.kind {
	case "map":
		t.path = []string{"views", t.name, "map"}
	case "filter":
		t.path = []string{"filters", t.name}
	case "update":
		t.path = []string{"updates", t.name}
	case "show":
		t.path = []string{"shows", t.name}
	case "list":
		t.path = []string{"lists", t.name}
		t.view = textOf(body, "view")
	case "validate":
		t.path = []string{"validate_doc_update"}
	default:
		return nil, errTrialKind
	}
	_, err := memberAt(ddoc, t.path)
	if err != nil {
		return nil, err
	}
	if err := t.readView(ddoc); err != nil {
		return nil, err
	}
	if t.Trial, err = c.Docs.Designs().Trial(ddoc); err != nil {
		return nil, err
	}
	if change, ok := body.Get("doc"); ok && change.Kind() == ejson.Object {
		t.change = change.AppendJSON(nil)
	}
	if t.user, t.security, err = t.User(c.Context(), trialUser(c, body)); err != nil {
		return nil, err
	}
	t.req = t.appendRequest(body)
	return t, nil
}

// readView reads the map function that is tried, or whose rows a list function gets.
func (t *trial) readView(ddoc ejson.Value) error {
	name := t.view
	if t.kind == "map" {
		name = t.name
	} else if name == "" {
		return nil
	}
	source, err := memberAt(ddoc, []string{"views", name, "map"})
	if err != nil {
		return err
	}
	t.source = source.Text()
	views, _ := ddoc.Get("views")
	if lib, ok := views.Get("lib"); ok {
		t.lib = lib.AppendJSON(nil)
	}
	if view, ok := views.Get(name); ok && t.kind == "map" {
		t.reduce = textOf(view, "reduce")
	}
	return nil
}

// memberAt is the member of a design document at a path; 404 if there is none.
func memberAt(ddoc ejson.Value, path []string) (v ejson.Value, err error) {
	v = ddoc
	for _, step := range path {
		var given bool
		if v, given = v.Get(step); !given {
			return v, compat.NewError(compat.KindNotFound, "missing json key: "+step)
		}
	}
	return v, nil
}

// trialUser is the member user of a request, or who asks.
func trialUser(c *call.Call, body ejson.Value) principal.Principal {
	user, given := body.Get("user")
	if !given || user.Kind() != ejson.Object {
		return c.User
	}
	who := principal.Principal{Name: textOf(user, "name")}
	if roles, ok := user.Get("roles"); ok && roles.Kind() == ejson.Array {
		for role := range roles.Elements() {
			who.Roles = append(who.Roles, role.Text())
		}
	}
	return who
}

// appendRequest makes the request object of filters and updates: the members of req, and those that
// functions expect besides.
func (t *trial) appendRequest(body ejson.Value) []byte {
	req, _ := body.Get("req")
	b := append([]byte(`{"userCtx":`), t.user...)
	b = append(append(b, `,"secObj":`...), t.security...)
	for _, member := range [][2]string{
		{"method", `"GET"`}, {"query", "{}"}, {"headers", "{}"}, {"form", "{}"}, {"cookie", "{}"}, {"body", `""`}, {"id", "null"},
	} {
		b = append(ejson.AppendString(append(b, ','), member[0]), ':')
		if value, given := req.Get(member[0]); given {
			b = value.AppendJSON(b)
		} else {
			b = append(b, member[1]...)
		}
	}
	return append(b, '}')
}

func textOf(v ejson.Value, name string) string {
	if m, ok := v.Get(name); ok && m.Kind() == ejson.String {
		return m.Text()
	}
	return ""
}

// trialIDs are the ids of the documents that the functions are tried with: at least one and at most
// trialDocs, since each is read and mapped while the client waits.
func trialIDs(body ejson.Value) ([]string, error) {
	docs, _ := body.Get("docs")
	if docs.Kind() != ejson.Array || docs.Len() < 1 || docs.Len() > trialDocs {
		return nil, errTrialDocs
	}
	ids := make([]string, 0, docs.Len())
	for id := range docs.Elements() {
		if id.Kind() != ejson.String {
			return nil, errTrialDocs
		}
		ids = append(ids, id.Text())
	}
	return ids, nil
}

// one runs the function with a document and appends what it gave, or its error. stop says that the
// other documents need not be tried: the function does not compile, or its worker was ended.
func (t *trial) one(id string) (stop bool, err error) {
	t.answer = ejson.AppendString(append(t.answer, `{"id":`...), id)
	ctx := t.c.Context()
	doc, text, err := t.c.Docs.Designs().Argument(ctx, id)
	if err != nil {
		return false, err
	}
	if doc == nil && (t.kind != "validate" || t.change == nil) {
		err = compat.ErrMissing
	} else {
		err = t.run(ctx, id, text)
	}
	if len(t.answer) > trialBytes || errors.Is(err, errTrialSize) {
		return true, errTrialSize
	}
	if err != nil {
		var e *compat.Error
		if !errors.As(documents.FunctionError(err), &e) {
			return false, err
		}
		t.answer = ejson.AppendString(append(t.answer, `,"error":`...), e.Word())
		t.answer = e.AppendReason(append(t.answer, `,"reason":`...))
		stop = js.Killed(err) || e.Word() == "compilation_error"
	}
	t.answer = append(t.answer, '}')
	return stop, nil
}

// run calls the function with a document in JSON.
func (t *trial) run(ctx context.Context, id string, doc []byte) error {
	switch t.kind {
	case "map":
		return t.mapped(ctx, id, doc)
	case "filter":
		passes, err := t.Filter(ctx, t.path, [][]byte{doc}, t.req)
		if err == nil && passes[0] {
			t.answer = append(t.answer, `,"passes":true`...)
		} else if err == nil {
			t.answer = append(t.answer, `,"passes":false`...)
		}
		return err
	case "show":
		v, err := callFunction(ctx, t.c.Outgoing, t.Design, t.path, doc, t.req)
		if err != nil {
			return err
		}
		values, ok := answer(v, "resp", 1)
		if !ok {
			return badMatch(v)
		}
		t.answer = values[0].AppendJSON(append(t.answer, `,"response":`...))
		return nil
	case "list":
		return t.gather(ctx, id, doc)
	case "update":
		v, err := callFunction(ctx, t.c.Outgoing, t.Design, t.path, doc, t.req)
		if err != nil {
			return err
		}
		values, ok := answer(v, "up", 2)
		if !ok {
			return compat.CaseClause(v)
		}
		t.answer = values[0].AppendJSON(append(t.answer, `,"doc":`...))
		t.answer = values[1].AppendJSON(append(t.answer, `,"response":`...))
		return nil
	default:
		change := t.change
		if change == nil {
			change = doc
		}
		verdicts, err := t.Pool.Validate(ctx, &js.Validation{
			Designs: []*js.Design{t.Design}, User: t.user, Security: t.security,
			Docs: []js.ValidatedDoc{{New: change, Old: doc}},
		})
		if err == nil {
			err = verdicts[0]
		}
		if err == nil {
			t.answer = append(t.answer, `,"accepted":true`...)
		}
		return err
	}
}

// mapped runs a map function and appends the rows that it emitted.
func (t *trial) mapped(ctx context.Context, id string, doc []byte) error {
	program := js.NewMapProgram(t.c.DB.Name(), []string{t.source}, t.lib)
	results, err := t.Pool.Map(ctx, program, [][]byte{doc})
	if err != nil {
		return err
	}
	if message := results[0][0].Err; message != "" {
		return compat.Named(compat.KindError, "exception", message)
	}
	t.answer = append(t.answer, `,"rows":[`...)
	for i, row := range results[0][0].Rows {
		if len(t.answer)+len(row.Key)+len(row.Value) > trialBytes {
			return errTrialSize
		}
		if i > 0 {
			t.answer = append(t.answer, ',')
		}
		t.answer = append(append(t.answer, `{"key":`...), row.Key...)
		t.answer = append(append(append(t.answer, `,"value":`...), row.Value...), '}')
		t.rows = append(t.rows, js.ReduceRow{Key: row.Key, ID: id, Value: row.Value})
	}
	t.answer = append(t.answer, ']')
	return nil
}

// reduced appends what the reduce function of the view gives for all rows. The built-in functions
// that depend on the order of rows are left out: here they come in the order of the documents.
func (t *trial) reduced() error {
	value, err := t.reduceRows(t.c.Context())
	switch {
	case err != nil:
		var e *compat.Error
		if !errors.As(documents.FunctionError(err), &e) {
			return err
		}
		t.answer = ejson.AppendString(append(t.answer, `,"reduce":{"error":`...), e.Word())
		t.answer = append(e.AppendReason(append(t.answer, `,"reason":`...)), '}')
	case len(t.answer)+len(value) > trialBytes:
		return errTrialSize
	case value != nil:
		t.answer = append(append(append(t.answer, `,"reduce":{"value":`...), value...), '}')
	}
	return nil
}

// reduceRows is the value that a view would show for all rows of the trial. It is nil for functions
// that are answered by the first or last row of a range alone, which nothing is computed for.
func (t *trial) reduceRows(ctx context.Context) ([]byte, error) {
	if !reduce.Builtin(t.reduce) {
		rows := t.rows
		// A view shows what the function makes of its own result, as that of all parts of an index.
		for _, again := range []bool{false, true} {
			groups := []js.ReduceGroup{{Rereduce: again, Rows: rows}}
			results, err := t.Pool.Reduce(ctx, t.c.DB.Name(), t.reduce, js.ReduceLimit{}, groups)
			if err != nil {
				return nil, err
			}
			rows = []js.ReduceRow{{Value: results[0].Value}}
		}
		return rows[0].Value, nil
	}
	function, err := reduce.New(t.reduce, reduce.Options{})
	if err != nil || function.Kind() == reduce.KindFirst || function.Kind() == reduce.KindLast {
		return nil, err
	}
	rows := make([]reduce.Row, len(t.rows))
	for i, row := range t.rows {
		rows[i] = reduce.Row{Key: row.Key, ID: []byte(row.ID), Value: row.Value}
	}
	aggregates, err := function.Reduce(ctx, [][]reduce.Row{rows})
	if err != nil {
		return nil, err
	}
	values, err := function.Finish(ctx, t.name, aggregates)
	if err != nil {
		return nil, err
	}
	return values[0].JSON, nil
}
