package js

import (
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// Design is a design document with the functions it holds. It is immutable, cheap to make, and safe
// for concurrent use: workers keep what they compiled of it.
type Design struct {
	pool   *Pool
	tenant string
	source []byte
	key    digest
}

// Design makes the functions of a design document callable. ddoc is its JSON with _id and _rev;
// tenant, the name of its database, shares workers fairly with others and never a realm.
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
	return &request{
		tenant:  d.tenant,
		command: c,
		payload: payload,
		program: d.key,
		source:  func(digest) []byte { return d.source },
	}
}

// Call runs the function at a path of the design document (shows, updates, rewrites) with arguments
// in JSON, and gives what CouchDB's query server answers, an array. Errors are what a function
// throws, as *compat.Error, those of the pool, and those of hold, which is asked with the text of the
// answer before it is parsed.
func (d *Design) Call(
	ctx context.Context, hold func(text []byte) error, path []string, args ...[]byte,
) (ejson.Value, error) {
	var e encoder
	e.b = append(e.b, d.key[:]...)
	e.strings(path)
	e.list(args)
	if err := checkSize(e.b); err != nil {
		return ejson.Value{}, err
	}
	reply, err := d.pool.do(ctx, d.request(commandDesign, e.b))
	if err == nil {
		err = hold(reply)
	}
	if err != nil {
		return ejson.Value{}, err
	}
	return parseReply(reply)
}

// parseReply parses an answer; ["error", word, reason] and ["fatal", word, reason] are the errors
// they say (couch_os_process:readjson).
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
	var word string
	switch list[1].Kind() {
	case ejson.String:
		word = list[1].Text()
	case ejson.Null, ejson.Bool: // atoms of Erlang as well (couch_util:to_existing_atom)
		word = string(list[1].AppendJSON(nil))
	default:
		return compat.ErrFunctionClause
	}
	thrown := compat.Thrown(word, list[2])
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

// RawError is an error whose reason is an object with the member body alone: a list function that
// has begun to answer ends its answer with this text (chttpd:send_chunked_error).
type RawError struct {
	Err  *compat.Error
	Body string
}

// Error implements error.
func (e *RawError) Error() string { return e.Err.Error() }

// Unwrap gives the error as other requests show it.
func (e *RawError) Unwrap() error { return e.Err }

// Filter runs a filter function over documents and tells which pass. With a path into views the map
// function is the filter: a document passes if it emits. req is the request object; only filters
// get it. With an error come the answers about the documents before.
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
	r.again = func() { passes = passes[:0] }
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
