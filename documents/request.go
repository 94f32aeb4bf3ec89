package documents

import (
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// Request is a request, or a substitute for one, as functions of design documents see it. All of it
// is values: functions decide by what is written here.
type Request struct {
	ID    string // of the document the path names
	HasID bool
	// Bare leaves out what rewrite functions do not get: info, uuid, id and form.
	Bare bool

	Method []byte // as JSON
	// The parts of the path: as the client asked for it, and as rewrite rules have made it.
	RequestedPath []string
	Path          []string
	RawPath       string
	Query         compat.Query
	Headers       []compat.Param // in the order of their names
	// Body gives the member body as JSON. It is called once, after everything that is read of the
	// database.
	Body    func() ([]byte, error)
	IsForm  bool // the body is the text of a form
	Peer    string
	Cookies []compat.Param
	// Room, if it is set, waits until there is memory for a large security object; its error ends
	// the request.
	Room func(bytes int) error
}

// NoBody is the Body of a request without one.
func NoBody() ([]byte, error) { return []byte(`"undefined"`), nil }

// AppendRequest appends the request object that functions get (chttpd_external:json_req_obj). The
// members' order is CouchDB's.
func (f Designs) AppendRequest(ctx context.Context, b []byte, r *Request) ([]byte, error) {
	b = append(b, '{')
	if !r.Bare {
		info, err := f.d.db.Info(ctx)
		if err != nil {
			return nil, err
		}
		id, err := f.d.rules.UUIDs.Next()
		if err != nil {
			return nil, err
		}
		b = AppendInfo(append(b, `"info":`...), info)
		b = ejson.AppendString(append(b, `,"uuid":`...), id)
		b = append(b, `,"id":`...)
		if r.HasID {
			b = ejson.AppendString(b, r.ID)
		} else {
			b = append(b, "null"...)
		}
		b = append(b, ',')
	}
	b = append(append(b, `"method":`...), r.Method...)
	b = appendTexts(append(b, `,"requested_path":`...), r.RequestedPath)
	b = appendTexts(append(b, `,"path":`...), r.Path)
	b = ejson.AppendString(append(b, `,"raw_path":`...), r.RawPath)
	b, err := appendQuery(append(b, `,"query":`...), r.Query)
	if err != nil {
		return nil, err
	}
	b = appendParams(append(b, `,"headers":`...), r.Headers)
	text, err := r.Body()
	if err != nil {
		return nil, err
	}
	b = append(append(b, `,"body":`...), text...)
	b = ejson.AppendString(append(b, `,"peer":`...), r.Peer)
	if !r.Bare {
		b = append(b, `,"form":`...)
		if b, err = r.appendForm(b, text); err != nil {
			return nil, err
		}
	}
	b = appendParams(append(b, `,"cookie":`...), r.Cookies)
	b = appendUser(append(b, `,"userCtx":`...), f.d.Name(), f.d.who)
	object, err := f.d.db.Settings().Security(ctx)
	if err != nil {
		return nil, err
	}
	security := securityOf(object)
	if r.Room != nil {
		if err := r.Room(len(security)); err != nil {
			return nil, err
		}
	}
	return append(append(append(b, `,"secObj":`...), security...), '}'), nil
}

// appendTexts appends a list of texts as a JSON array.
func appendTexts(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = ejson.AppendString(b, s)
	}
	return append(b, ']')
}

// appendParams appends names with values as a JSON object. A name that comes twice is there twice,
// as mochijson prints it.
func appendParams(b []byte, list []compat.Param) []byte {
	b = append(b, '{')
	for i, p := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(ejson.AppendString(b, p.Name), ':')
		b = ejson.AppendString(b, p.Value)
	}
	return append(b, '}')
}

// appendQuery prints the query as an object: the options that are JSON as what they are, all others
// as texts.
func appendQuery(b []byte, query compat.Query) ([]byte, error) {
	b = append(b, '{')
	for i, p := range lastOfEach(query) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(ejson.AppendString(b, p.Name), ':')
		switch p.Name {
		case "key", "startkey", "endkey", "descending":
			v, err := ejson.Parse([]byte(p.Value))
			if err != nil {
				return nil, compat.ErrInvalidJSON
			}
			b = v.AppendJSON(b)
		default:
			b = ejson.AppendString(b, p.Value)
		}
	}
	return append(b, '}'), nil
}

// lastOfEach is what JavaScript makes of equal names: the place of the first, the value of the
// last.
func lastOfEach(list []compat.Param) []compat.Param {
	out := make([]compat.Param, 0, len(list))
	at := make(map[string]int, len(list))
	for _, p := range list {
		if i, again := at[p.Name]; again {
			out[i].Value = p.Value
			continue
		}
		at[p.Name] = len(out)
		out = append(out, p)
	}
	return out
}

// appendForm prints the fields of a form that was sent; text is the member body.
func (r *Request) appendForm(b, text []byte) ([]byte, error) {
	if !r.IsForm {
		return append(b, '{', '}'), nil
	}
	v, err := ejson.Parse(text)
	if err != nil {
		return nil, err
	}
	return appendParams(b, lastOfEach(compat.ParseQuery(v.Text()))), nil
}
