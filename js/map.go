package js

import (
	"context"
	"errors"

	"github.com/settee-db/settee/compat"
)

// MapProgram is a list of map functions that run over the same documents. It is immutable once
// used, and cheap to use again and again: workers keep what they compiled.
type MapProgram struct {
	Tenant string   // who shares workers fairly with others: the name of the database
	Maps   []string // sources
	Lib    []byte   // JSON of `views.lib`, for require(); nil without

	index   SearchIndex
	encoded []byte
	key     digest
}

// NewMapProgram makes a program of map functions.
func NewMapProgram(tenant string, maps []string, lib []byte) *MapProgram {
	p := &MapProgram{Tenant: tenant, Maps: maps, Lib: lib}
	p.encode()
	return p
}

func (p *MapProgram) encode() {
	var e encoder
	e.uint(uint64(p.index))
	e.bytes(p.Lib)
	e.uint(uint64(len(p.Maps)))
	for _, m := range p.Maps {
		e.string(m)
	}
	p.encoded, p.key = e.b, digestOf(e.b)
}

// Emitted is one row that a map function emitted: JSON as CouchDB stores and prints it.
type Emitted struct {
	Key, Value []byte
}

// MapResult is the result of one map function for one document.
type MapResult struct {
	Rows []Emitted
	Err  string // the exception that dropped the document's rows, as CouchDB logs it; "" without
	// Killed: the function did not come to an end or filled the memory, and its worker was ended
	// (MapEach).
	Killed bool
}

// DocResult has the results of a program's functions for one document, in the order of
// MapProgram.Maps.
type DocResult []MapResult

// Map runs the functions of a program over documents, given as JSON with _id, _rev and the rest, in
// order, as many of the first as one crossing gives back: functions that are slow or emit much need
// several (MapEach), between which other calls get the worker. Variables that a function forgets to
// declare live from document to document, as long as its realm (realms.go). An error stands for the
// call: exceptions that CouchDB lets fail the index (throw "fatal_error" and the like), a function
// that does not compile, os_process_error for time and memory. It comes with the results of the
// first documents, as far as they are known. Documents whose rows are too many for one crossing go
// one half after the other.
func (p *Pool) Map(ctx context.Context, program *MapProgram, docs [][]byte) ([]DocResult, error) {
	for most := len(docs); ; most /= 2 {
		results, err := p.mapOnce(ctx, program, docs[:most])
		if program.index == noSearchIndex {
			p.countRows(results)
		}
		switch tooMuch := errors.Is(err, errTooMuch); {
		case tooMuch && len(results) > 0:
			return results, nil
		case !tooMuch || most <= 1:
			return results, err
		}
	}
}

// countRows counts documents that map functions of views were run over, and what these emitted.
func (p *Pool) countRows(results []DocResult) {
	rows := 0
	for _, of := range results {
		for i := range of {
			rows += len(of[i].Rows)
		}
	}
	p.mapped.Add(int64(len(results)))
	p.emitted.Add(int64(rows))
}

// mapOnce is Map for as many of the documents, from the first, as one crossing has time for. An
// error comes with the results that were there before it.
func (p *Pool) mapOnce(ctx context.Context, program *MapProgram, docs [][]byte) ([]DocResult, error) {
	size := 64 + len(program.Tenant)
	for _, d := range docs {
		size += len(d) + 5
	}
	e := encoder{b: make([]byte, 0, size)}
	e.b = append(e.b, program.key[:]...)
	e.string(program.Tenant)
	e.list(docs)
	results := make([]DocResult, 0, len(docs))
	decode := func(payload []byte) error {
		d := decoder{b: payload}
		for len(d.b) > 0 {
			one := decodeDocResult(&d)
			if d.err != nil || len(results) == len(docs) {
				return errFrame
			}
			results = append(results, one)
		}
		return nil
	}
	_, err := p.do(ctx, &request{
		tenant: program.Tenant, command: commandMap, payload: e.b, program: program.key,
		source: func(digest) []byte { return program.encoded },
		chunk:  decode,
		most:   p.opts.MaxRows,
		again:  func() { results = results[:0] },
	})
	if err != nil {
		return results, err
	}
	if len(results) == 0 && len(docs) > 0 {
		return nil, compat.NewError(compat.KindInternal, errFrame.Error())
	}
	return results, nil
}

// encodeMapResult appends what one function made of one document: its failure, empty for none, and
// its rows.
func encodeMapResult(e *encoder, rows []Emitted, failure string) {
	e.string(failure)
	e.uint(uint64(len(rows)))
	for _, r := range rows {
		e.bytes(r.Key)
		e.bytes(r.Value)
	}
}

// decodeDocResult reads the results of all functions for one document. A length that the rest of
// the payload cannot have is an error of the decoder, so that a worker cannot make the server
// reserve memory.
func decodeDocResult(d *decoder) DocResult {
	result := make(DocResult, d.count())
	for i := range result {
		result[i].Err = d.string()
		n := d.count()
		if n == 0 || d.err != nil {
			continue
		}
		rows := make([]Emitted, n)
		for j := range rows {
			rows[j] = Emitted{Key: d.bytes(), Value: d.bytes()}
		}
		result[i].Rows = rows
	}
	return result
}

// CheckMap compiles a map function as CouchDB does when a design document is saved. The error's
// reason is without "Compilation of the map function in the 'v' view failed: ", which the caller
// puts before those of kind KindCompilationError.
func (p *Pool) CheckMap(ctx context.Context, tenant, source string) error {
	_, err := p.do(ctx, &request{tenant: tenant, command: commandCheck, payload: []byte(source)})
	return err
}

// CheckReduce compiles a reduce function likewise.
func (p *Pool) CheckReduce(ctx context.Context, tenant, source string) error {
	return p.CheckMap(ctx, tenant, source)
}
