package js

import (
	"context"
	"errors"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// Design is a design document with the functions it holds. It is immutable, cheap to make, and safe for concurrent use: workers keep
// what they compiled of it.
type Design struct {
	pool   *Pool
	tenant string
	source []byte
	key    digest
}

// Design makes the functions of a design document callable. ddoc is its JSON with _id and _rev; tenant, the name of its database, shares
// workers fairly with others and never a realm.
func (p *Pool) Design(tenant string, ddoc []byte) *Design {
	var e encoder
	e.b = make([]byte, 0, len(ddoc)+len(tenant)+20)
	e.string(tenant)
	e.bytes(ddoc)
	return &Design{pool: p, tenant: tenant, source: e.b, key: digestOf(e.b)}
}

// maxQuestion bounds what one call sends to a worker.
const maxQuestion = 64 << 20

// checkSize refuses what is too large for a worker.
func checkSize(payload []byte) error {
	if len(payload) > maxQuestion {
		return compat.ErrRequestTooLarge
	}
	return nil
}

func (d *Design) request(c command, payload []byte) *request {
	return &request{tenant: d.tenant, command: c, payload: payload, program: d.key, source: func(digest) []byte { return d.source }}
}

// Call runs the function at a path of the design document (shows, updates, rewrites) with arguments in JSON, and gives what CouchDB's
// query server answers, an array. Errors are what a function throws, as *compat.Error, and those of the pool.
func (d *Design) Call(ctx context.Context, path []string, args ...[]byte) (ejson.Value, error) {
	var e encoder
	e.b = append(e.b, d.key[:]...)
	e.strings(path)
	e.list(args)
	if err := checkSize(e.b); err != nil {
		return ejson.Value{}, err
	}
	reply, err := d.pool.do(ctx, d.request(commandDesign, e.b))
	if err != nil {
		return ejson.Value{}, err
	}
	return parseReply(reply)
}

// parseReply parses an answer; ["error", word, reason] and ["fatal", word, reason] are the errors they say (couch_os_process:readjson).
func parseReply(reply []byte) (ejson.Value, error) {
	v, err := ejson.Parse(reply)
	if err != nil {
		return v, compat.ErrInvalidJSON
	}
	return v, replyError(v)
}

func replyError(v ejson.Value) error {
	if v.Kind() == ejson.Array && v.Len() == 2 && firstOf(v).TextIs("log") {
		return errTimedOut // taken for a text to be logged, it is no answer
	}
	if v.Kind() != ejson.Array || v.Len() != 3 {
		return nil
	}
	var list [3]ejson.Value
	i := 0
	for e := range v.Elements() {
		list[i] = e
		i++
	}
	if !list[0].TextIs("error") && !list[0].TextIs("fatal") {
		return nil
	}
	if list[1].Kind() != ejson.String {
		return compat.ErrFunctionClause
	}
	thrown := compat.Thrown(list[1].Text(), list[2])
	if body, given := list[2].Get("body"); given && list[2].Len() == 1 && body.Kind() == ejson.String {
		return &RawError{Err: thrown, Body: body.Text()}
	}
	return thrown
}

func firstOf(list ejson.Value) ejson.Value {
	for e := range list.Elements() {
		return e
	}
	return ejson.Value{}
}

// RawError is an error whose reason is an object with the member body alone: a list function that has begun to answer ends its answer with
// this text (chttpd:send_chunked_error).
type RawError struct {
	Err  *compat.Error
	Body string
}

// Error implements error.
func (e *RawError) Error() string { return e.Err.Error() }

// Unwrap gives the error as other requests show it.
func (e *RawError) Unwrap() error { return e.Err }

// Filter runs a filter function over documents and tells which pass. With a path into views the map function is the filter: a document
// passes if it emits. req is the request object; only filters get it. With an error come the answers about the documents before.
func (d *Design) Filter(ctx context.Context, path []string, docs [][]byte, req []byte) ([]bool, error) {
	var e encoder
	e.b = append(e.b, d.key[:]...)
	e.strings(path)
	e.bytes(req)
	e.list(docs)
	if err := checkSize(e.b); err != nil {
		return nil, err
	}
	passes := make([]bool, 0, len(docs))
	r := d.request(commandFilter, e.b)
	r.chunk = func(payload []byte) error {
		for _, b := range payload {
			passes = append(passes, b != 0)
		}
		return nil
	}
	reply, err := d.pool.do(ctx, r)
	if err == nil && len(reply) > 0 {
		_, err = parseReply(reply)
	}
	if err != nil {
		return passes, err
	}
	if len(passes) != len(docs) {
		return nil, compat.NewError(compat.KindInternal, errFrame.Error())
	}
	return passes, nil
}

// ListIO is the other side of a list function.
type ListIO struct {
	// Output takes a message of the function, an array: "start" with chunks and the head of the response, "chunks" or "end" with chunks and
	// perhaps another head. An error ends the conversation.
	Output func(message ejson.Value) error
	// Rows gives rows of the view as JSON objects; none at the end. An error ends the conversation.
	Rows func() ([][]byte, error)
}

// List runs a list function: it reads rows as it likes and writes messages meanwhile.
func (d *Design) List(ctx context.Context, name string, head, req []byte, io ListIO) error {
	var e encoder
	e.b = append(e.b, d.key[:]...)
	e.string(name)
	e.bytes(head)
	e.bytes(req)
	if err := checkSize(e.b); err != nil {
		return err
	}
	output := func(payload []byte) error {
		v, err := parseReply(payload)
		if err != nil {
			return err
		}
		return io.Output(v)
	}
	r := d.request(commandList, e.b)
	r.chunk = func(payload []byte) error {
		messages := decoder{b: payload}
		for len(messages.b) > 0 {
			if err := output(messages.bytes()); err != nil {
				return err
			}
		}
		return messages.err
	}
	r.answer = func([]byte) ([]byte, error) {
		rows, err := io.Rows()
		var e encoder
		e.list(rows)
		return e.b, err
	}
	reply, err := d.pool.do(ctx, r)
	if err != nil {
		return err
	}
	return output(reply)
}

// ValidatedDoc is a document with the revision it replaces, nil for none; both in JSON as validation functions see them.
type ValidatedDoc struct{ New, Old []byte }

// Validation is a question to the validation functions of a database.
type Validation struct {
	Designs        []*Design // in the order in which they are asked
	User, Security []byte    // JSON of the arguments userCtx and secObj
	Docs           []ValidatedDoc
}

// retryTime bounds how long the documents of a call that broke off are tried one by one.
const retryTime = 10 * time.Second

// validateBytes is how much of the documents crosses at once.
const validateBytes = 16 << 20

// Validate asks all functions about all documents, in one crossing if they are not large. The verdict of a document is nil or the first
// refusal. A function that must be killed fails the document it is about.
func (p *Pool) Validate(ctx context.Context, v *Validation) ([]error, error) {
	verdicts := make([]error, 0, len(v.Docs))
	for docs := v.Docs; len(docs) > 0; {
		n, size := 1, len(docs[0].New)+len(docs[0].Old)
		for n < len(docs) && size < validateBytes {
			size += len(docs[n].New) + len(docs[n].Old)
			n++
		}
		some, err := p.validateSome(ctx, v, docs[:n])
		if err != nil {
			return nil, err
		}
		verdicts, docs = append(verdicts, some...), docs[n:]
	}
	return verdicts, nil
}

// validateSome asks about documents in one crossing, one by one if that breaks off.
func (p *Pool) validateSome(ctx context.Context, v *Validation, docs []ValidatedDoc) ([]error, error) {
	verdicts, err := p.validate(ctx, v, docs)
	if err == nil || ctx.Err() != nil {
		return verdicts, err
	}
	if _, wire := compat.AsError(err); !wire {
		return nil, err
	}
	verdicts = make([]error, len(docs))
	deadline := time.Now().Add(retryTime)
	for i := range docs {
		verdicts[i] = err
		if len(docs) == 1 || time.Now().After(deadline) {
			continue
		}
		one, err := p.validate(ctx, v, docs[i:i+1])
		switch {
		case ctx.Err() != nil:
			return nil, err
		case err != nil:
			verdicts[i] = err
		default:
			verdicts[i] = one[0]
		}
	}
	return verdicts, nil
}

func (p *Pool) validate(ctx context.Context, v *Validation, docs []ValidatedDoc) ([]error, error) {
	if len(v.Designs) == 0 {
		return make([]error, len(docs)), nil
	}
	var e encoder
	e.uint(uint64(len(v.Designs)))
	program := sharedKey(v.Designs)
	for _, d := range v.Designs {
		e.b = append(e.b, d.key[:]...)
	}
	e.bytes(v.User)
	e.bytes(v.Security)
	e.uint(uint64(len(docs)))
	for _, d := range docs {
		e.bytes(d.New)
		e.bytes(d.Old)
	}
	if err := checkSize(e.b); err != nil {
		return nil, err
	}
	verdicts := make([]error, 0, len(docs))
	_, err := p.do(ctx, &request{
		tenant: v.Designs[0].tenant, command: commandValidate, payload: e.b, program: program,
		source: func(key digest) []byte {
			for _, d := range v.Designs {
				if d.key == key {
					return d.source
				}
			}
			return nil
		},
		chunk: func(payload []byte) error {
			d := decoder{b: payload}
			for len(d.b) > 0 {
				verdicts = append(verdicts, decodeVerdict(d.bytes()))
			}
			return d.err
		},
	})
	if err == nil && len(verdicts) != len(docs) {
		err = errors.New("js: verdicts are missing")
	}
	return verdicts, err
}

// sharedKey names a set of design documents, so that the same worker is preferred for it.
func sharedKey(designs []*Design) digest {
	if len(designs) == 1 {
		return designs[0].key
	}
	var all []byte
	for _, d := range designs {
		all = append(all, d.key[:]...)
	}
	return digestOf(all)
}

// decodeVerdict reads the answer of validation functions about one document; empty accepts it. Whatever else is thrown is a crash of the
// real server (couch_query_servers:validate_doc_update).
func decodeVerdict(reply []byte) error {
	if len(reply) == 0 {
		return nil
	}
	v, err := parseReply(reply)
	if err != nil {
		return err
	}
	if n, ok := v.Int(); ok && n == 1 {
		return nil
	}
	if b, ok := v.Bool(); ok && b {
		return nil
	}
	if v.Kind() == ejson.String {
		return compat.Named(compat.KindError, "unknown_error", v.Text())
	}
	if v.Kind() == ejson.Object && v.Len() == 1 {
		for name, reason := range v.Members() {
			word := "unknown_error"
			if name.TextIs("forbidden") || name.TextIs("unauthorized") {
				word = name.Text()
			}
			if reason.IsNull() && word == "unknown_error" {
				return compat.Named(compat.KindError, word, word)
			}
			return compat.Thrown(word, reason)
		}
	}
	return compat.ErrFunctionClause
}

func (e *encoder) strings(list []string) {
	e.uint(uint64(len(list)))
	for _, s := range list {
		e.string(s)
	}
}

func (d *decoder) strings() []string {
	n := d.count()
	list := make([]string, 0, min(n, 1<<12))
	for ; n > 0 && d.err == nil; n-- {
		list = append(list, d.string())
	}
	return list
}
