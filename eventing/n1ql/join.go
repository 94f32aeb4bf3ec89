package n1ql

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// A row with joins goes from one joiner to the next. Each collects rows into a block, asks for what
// belongs to all of them at once, and hands the longer rows on; the last one has LET and WHERE
// evaluated. What is in a block is counted as kept until it is done.

// maxBlock bounds the documents of the rows in one block, in bytes.
const maxBlock = 1 << 20

// joiner adds a term to the rows of the terms before it.
type joiner struct {
	*join
	run      *run
	env      *env     // of its expressions: its keyspace's documents have its alias there
	keyspace Keyspace // nil for UNNEST
	next     func(terms []term, size int) (more bool, err error)
	block    []*joinedRow
	size     int  // of the block
	scans    bool // no index serves ON: all documents are read for each block
}

// joinedRow is a row in a block, with what was found for it.
type joinedRow struct {
	terms  []term
	size   int
	found  bool
	nested []datum.Value // of NEST
	extra  int           // bytes of nested
}

// joined gives the rows of all joins to each; push takes the documents of the first keyspace, flush
// comes after the last one.
func (r *run) joined(e *env, each func(e *env) (bool, error)) (
	push func(d *Document, body datum.Value, size int) (bool, error), flush func() error,
) {
	next := func(terms []term, _ int) (bool, error) {
		e.terms, e.held = terms, 0
		return r.finish(e, each)
	}
	var joiners []*joiner
	for i := len(r.statement.joins) - 1; i >= 0; i-- {
		j := &joiner{join: r.statement.joins[i], run: r, env: r.env(), keyspace: r.others[i], next: next}
		j.env.alias = j.alias
		joiners = append(joiners, j)
		next = j.push
	}
	push = func(d *Document, body datum.Value, size int) (bool, error) {
		return next([]term{{alias: r.alias, value: body, meta: d}}, size)
	}
	flush = func() error {
		for i := len(joiners) - 1; i >= 0; i-- {
			if more, err := joiners[i].flush(); err != nil || !more {
				return err
			}
		}
		return nil
	}
	return push, flush
}

// own makes a copy of a document that is valid without what it was read from; size is what it takes.
func own(d *Document) (copied *Document, body datum.Value, size int, err error) {
	copied = &Document{ID: d.ID, Cas: d.Cas, Body: bytes.Clone(d.Body), Exists: true, Expiry: d.Expiry}
	parsed, err := ejson.Parse(copied.Body)
	return copied, datum.FromJSON(parsed), len(d.Body) + int(ejson.TapeSize(d.Body)) + datum.ValueSize, err
}

// push takes a row, and works on the block when it is full.
func (j *joiner) push(terms []term, size int) (more bool, err error) {
	if err := j.run.memory.keep(size); err != nil {
		return false, err
	}
	j.block, j.size = append(j.block, &joinedRow{terms: terms, size: size}), j.size+size
	if len(j.block) < keysAtOnce && j.size < maxBlock {
		return true, nil
	}
	return j.flush()
}

// flush adds the term to the rows of the block.
func (j *joiner) flush() (more bool, err error) {
	block, size := j.block, j.size
	j.block, j.size = nil, 0
	defer func() { j.run.memory.kept -= size }()
	switch {
	case len(block) == 0:
		return true, j.run.ctx.Err()
	case j.what == "UNNEST":
		return j.unnest(block)
	}
	keys, byKeys, err := j.keysOf(block)
	switch {
	case err != nil:
		return false, err
	case byKeys:
		return j.byKeys(block, keys)
	}
	if !j.scans {
		return j.byIndex(block)
	}
	return j.byScan(block)
}

// unnest adds the elements of an array.
func (j *joiner) unnest(block []*joinedRow) (more bool, err error) {
	for _, row := range block {
		e := j.at(row)
		array, err := j.array.eval(e)
		if err != nil {
			return false, err
		}
		elements := array.Elements()
		if err := e.hold(&datum.Value{List: elements}); err != nil {
			return false, err
		}
		for i := range elements {
			if more, err := j.add(row, elements[i], nil, 0); err != nil || !more {
				return false, err
			}
		}
		if more, err := j.end(row); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// at is env at a row, without a document. One serves all rows, so that patterns are compiled once.
func (j *joiner) at(row *joinedRow) *env {
	j.env.terms, j.env.document, j.env.meta, j.env.held = row.terms, datum.Value{}, nil, 0
	return j.env
}

// keysOf gives the ids of the documents that belong to each row; byKeys is false if ON does not name
// them.
func (j *joiner) keysOf(block []*joinedRow) (keys [][]string, byKeys bool, err error) {
	for _, row := range block {
		e := j.at(row)
		if j.keys == nil {
			list, ok := keysOf(j.on, e)
			if !ok {
				return nil, false, nil
			}
			keys = append(keys, list)
			continue
		}
		v, err := j.keys.eval(e)
		if err != nil {
			return nil, false, err
		}
		var list []string
		if v.Kind == datum.KindString {
			list = []string{v.Text}
		}
		for _, key := range v.Elements() { // others than strings are no keys of documents
			if key.Kind == datum.KindString {
				list = append(list, key.Text)
			}
		}
		keys = append(keys, list)
	}
	return keys, true, nil
}

// byKeys reads the documents of the rows by their ids, of many rows at once.
func (j *joiner) byKeys(block []*joinedRow, keys [][]string) (more bool, err error) {
	var docs []Document // those of the ids from first on, in the order of the rows
	var all []string
	for _, list := range keys {
		all = append(all, list...)
	}
	for i, row := range block {
		for range keys[i] {
			if len(docs) == 0 {
				n := min(len(all), keysAtOnce)
				if docs, err = j.keyspace.Get(j.run.ctx, all[:n]); err != nil {
					return false, err
				}
				all = all[n:]
			}
			d := docs[0]
			if docs = docs[1:]; !d.Exists {
				continue
			}
			if more, err := j.match(block[i:i+1], &d); err != nil || !more {
				return false, err
			}
		}
		if more, err := j.end(row); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// byIndex finds the documents of each row by an index. From the first row on for which there is none
// the block is done by a scan, and so are the blocks after it.
func (j *joiner) byIndex(block []*joinedRow) (more bool, err error) {
	for i, row := range block {
		wanted, e := true, j.at(row)
		if !j.never(j.on, e) {
			err = j.keyspace.Find(j.run.ctx, Find{
				Selector: selectorFor(j.on, e), Indexed: true, Expiry: j.run.statement.expiry,
				Each: func(d *Document) (bool, error) {
					wanted, err = j.match(block[i:i+1], d)
					return wanted, err
				},
			})
		}
		if isKind(err, KindUnindexed) {
			j.scans = true
			return j.byScan(block[i:])
		}
		if err != nil || !wanted {
			return false, err
		}
		if more, err := j.end(row); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// never reports whether ON cannot hold for a row, because it compares with what the row has not.
func (j *joiner) never(on expr, e *env) bool {
	switch x := on.(type) {
	case *allOf:
		return slices.ContainsFunc(x.list, func(part expr) bool { return j.never(part, e) })
	case *comparison:
		t := translator{env: e}
		for _, side := range []expr{x.a, x.b} {
			if v, constant := t.constant(side); constant && v.Unknown() {
				return true
			}
		}
	}
	return false
}

// byScan reads all documents that may belong to any row once for the block.
func (j *joiner) byScan(block []*joinedRow) (more bool, err error) {
	wanted := true
	err = j.keyspace.Find(j.run.ctx, Find{
		Expiry: j.run.statement.expiry,
		Each: func(d *Document) (bool, error) {
			wanted, err = j.match(block, d)
			return wanted, err
		},
	})
	if err != nil || !wanted {
		return false, err
	}
	for _, row := range block {
		if more, err := j.end(row); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// match adds a document to those rows for which ON holds. Rows that have it share one copy.
func (j *joiner) match(rows []*joinedRow, d *Document) (more bool, err error) {
	var parsed ejson.Value
	if j.on != nil {
		parser := ejson.AcquireParser()
		defer parser.Release()
		if parsed, err = parser.Parse(d.Body); err != nil {
			return false, err
		}
	}
	var copied *Document
	var body datum.Value
	size := 0
	for _, row := range rows {
		if j.on != nil {
			e := j.at(row)
			e.document, e.meta = datum.FromJSON(parsed), d
			if ok, err := e.passes(j.on); err != nil {
				return false, err
			} else if !ok {
				continue
			}
		}
		if copied == nil {
			if copied, body, size, err = own(d); err != nil {
				return false, err
			}
		}
		if more, err := j.add(row, body, copied, size); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// add makes a longer row of a row, or keeps what is nested for its end.
func (j *joiner) add(row *joinedRow, v datum.Value, meta *Document, size int) (more bool, err error) {
	row.found = true
	if j.what != "NEST" {
		return j.hand(row, term{alias: j.alias, value: v, meta: meta}, size)
	}
	if row.extra += size; row.extra > maxKeptBytes {
		return false, limitf("NEST would have to keep more than %d MB in memory", maxKeptBytes>>20)
	}
	row.nested = append(row.nested, v)
	return true, j.run.memory.keep(size)
}

// hand gives a row with one term more to the next joiner.
func (j *joiner) hand(row *joinedRow, t term, size int) (more bool, err error) {
	terms := append(row.terms[:len(row.terms):len(row.terms)], t)
	return j.next(terms, row.size+size)
}

// end is called when all that belongs to a row was added. LEFT keeps a row to which nothing was: its
// term is MISSING, or an empty array of NEST.
func (j *joiner) end(row *joinedRow) (more bool, err error) {
	defer func() { j.run.memory.kept -= row.extra }()
	switch {
	case j.what == "NEST" && (row.found || j.outer):
		return j.hand(row, term{alias: j.alias, value: datum.Array(row.nested)}, row.extra)
	case !row.found && j.outer:
		return j.hand(row, term{alias: j.alias}, 0)
	}
	return true, nil
}
