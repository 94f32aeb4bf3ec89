package js

import (
	"context"
	"errors"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// ValidatedDoc is a document with the revision it replaces, nil for none; both in JSON as
// validation functions see them.
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

// Validate asks all functions about all documents, in one crossing if they are not large. The
// verdict of a document is nil or the first refusal. A function that must be killed fails the
// document it is about.
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

// validate asks about all documents in one call to a worker. The security object is long and the
// same for all, so it crosses once and is not copied; sources cross only if the worker does not
// have them. The verdicts come in chunks, in the order of the documents; again drops them when the
// call is made a second time. Bodies that are too large together are refused before a worker is
// taken.
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
	e.uint(uint64(len(v.Security)))
	var list encoder
	list.uint(uint64(len(docs)))
	size := len(v.Security)
	for _, d := range docs {
		size += len(d.New) + len(d.Old)
	}
	if size > maxQuestion {
		return nil, compat.ErrRequestTooLarge
	}
	for _, d := range docs {
		list.bytes(d.New)
		list.bytes(d.Old)
	}
	verdicts := make([]error, 0, len(docs))
	_, err := p.do(ctx, &request{
		tenant: v.Designs[0].tenant, command: commandValidate, payload: e.b, more: [][]byte{v.Security, list.b},
		program: program,
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
		again: func() { verdicts = verdicts[:0] },
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

// decodeVerdict reads the answer of validation functions about one document; empty accepts it.
// Whatever else is thrown is a crash of the real server (couch_query_servers:validate_doc_update).
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
