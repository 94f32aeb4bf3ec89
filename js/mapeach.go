package js

import (
	"context"

	"github.com/settee-db/settee/compat"
)

// Mapper is Pool.Map.
type Mapper interface {
	Map(ctx context.Context, program *MapProgram, docs [][]byte) ([]DocResult, error)
}

// maxKilled is how many documents one after the other may end their workers before others have to
// wait no longer.
const maxKilled = 8

// MapEach is Map, but a document with which a function does not come to an end, fills the memory,
// gives back too much or ends its worker in another way costs only the rows of that function and
// that document: its result says so (Err, Killed). CouchDB lets the whole index fail. The document
// is found among those whose results were not there yet, one by one, so that it costs twice the
// time of a call, and those that follow it directly once. Functions that run together are tried one
// by one with it.
//
// Results go to take as they come, in order, so that the caller need not have all of them; its
// error ends the call. done is for how many of the first documents that was, with an error as well:
// where maxKilled documents in a row ended their workers, or all of them, it is that of the last
// one, and theirs are among them.
func MapEach(
	ctx context.Context, m Mapper, program *MapProgram, docs [][]byte, take func([]DocResult) error,
) (done int, err error) {
	// One of the next documents has ended a worker; the last one has, and so many in a row.
	sought, killed := false, 0
	for done < len(docs) {
		next := docs[done:]
		if sought || killed > 0 {
			next = next[:1]
		}
		more, err := m.Map(ctx, program, next)
		if len(more) > 0 {
			killed = 0
			done += len(more)
			if stop := take(more); stop != nil {
				return done, stop
			}
		}
		switch {
		case err == nil:
		case !Killed(err) || ctx.Err() != nil:
			return done, err
		case len(next) > 1:
			sought = true
		default:
			one, fatal := mapApart(ctx, m, program, next, err)
			if fatal != nil {
				return done, fatal
			}
			done++
			if stop := take([]DocResult{one}); stop != nil {
				return done, stop
			}
			sought = false
			if killed++; killed == min(maxKilled, len(docs)) {
				return done, err
			}
		}
	}
	return done, nil
}

// mapApart maps a document that all functions of a program together do not survive with each of
// them.
func mapApart(ctx context.Context, m Mapper, p *MapProgram, doc [][]byte, cause error) (DocResult, error) {
	if len(p.Maps) == 1 {
		return DocResult{{Err: cause.Error(), Killed: true}}, nil
	}
	result := make(DocResult, 0, len(p.Maps))
	for n := range p.Maps {
		one, err := m.Map(ctx, NewMapProgram(p.Tenant, p.Maps[n:n+1], p.Lib), doc)
		switch {
		case err == nil:
			result = append(result, one[0]...)
		case Killed(err) && ctx.Err() == nil:
			result = append(result, MapResult{Err: err.Error(), Killed: true})
		default:
			return nil, err
		}
	}
	return result, nil
}

// Killed reports whether an error is that of a call whose worker was ended for what the call did:
// it ran too long, filled the memory, gave back too much, or the process died of it.
func Killed(err error) bool {
	e, ok := compat.AsError(err)
	return ok && e.Name == errTimedOut.Name
}
