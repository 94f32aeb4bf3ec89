package n1ql

import (
	"errors"
	"github.com/settee-db/settee/eventing/n1ql/datum"
	"slices"
)

// maxTries is how often a document is read and written when others change it meanwhile.
const maxTries = 3

// returned gives the rows of RETURNING to yield.
func (r *run) returned(yield func(row []byte) bool) error {
	for _, row := range r.returning {
		if !yield(row) {
			return nil
		}
	}
	return nil
}

// written counts a document and keeps its row for RETURNING.
func (r *run) written(e *env) error {
	r.mutations++
	if !r.statement.returning {
		return nil
	}
	if r.statement.merge != nil { // beside the source's
		of := *e
		of.terms = append(slices.Clip(e.terms), term{alias: e.alias, value: e.document, meta: e.meta})
		e = &of
	}
	row, err := r.project(e)
	if err != nil {
		return err
	}
	r.returning = append(r.returning, row)
	if r.size += len(row) + datum.ValueSize; r.size > maxKeptBytes {
		return limitf("RETURNING would have to keep more than %d MB in memory", maxKeptBytes>>20)
	}
	return r.memory.keep(len(row) + datum.ValueSize)
}

// insert does INSERT and UPSERT, one document after the other.
func (r *run) insert() error {
	if r.statement.rows != nil {
		return r.insertRows()
	}
	for i := range r.statement.inserts {
		if err := r.insertOne(r.env(), &r.statement.inserts[i]); err != nil {
			return err
		}
	}
	return nil
}

// insertRows does INSERT … SELECT. All rows are read before the first document is written.
func (r *run) insertRows() error {
	e := r.env()
	rows, err := r.statement.rows.rows(e, -1)
	if err != nil {
		return err
	}
	e.alias = "" // names are those of the row
	for _, row := range rows.Elements() {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		e.document, e.held = row, 0
		if err := r.insertOne(e, &r.statement.inserts[0]); err != nil {
			return err
		}
	}
	return nil
}

// insertOne writes the document of an element of VALUES.
func (r *run) insertOne(e *env, row *insertRow) error {
	key, err := row.key.eval(e)
	if err != nil {
		return err
	}
	w, document, err := r.insertion(e, row, &key)
	if err != nil {
		return err
	}
	if err := r.keyspace.Write(r.ctx, w); err != nil {
		return err
	}
	returned := r.env()
	returned.document, returned.meta = document, w.document()
	return r.written(returned)
}

// document is what was written.
func (w *Write) document() *Document {
	return &Document{ID: w.ID, Body: w.Body, Exists: true, Expiry: w.Expiry}
}

// valueMember is the only member of a document that stands for a value which is no object.
const valueMember = "$value"

// insertion evaluates an element of VALUES with a key.
func (r *run) insertion(e *env, row *insertRow, key *datum.Value) (w Write, document datum.Value, err error) {
	if key.Kind != datum.KindString || key.Text == "" {
		return w, document, invalidf("the key of %s is no string", r.statement.kind)
	}
	w.ID = key.Text
	if document, err = row.value.eval(e); err != nil {
		return w, document, err
	}
	switch document.Kind {
	case datum.KindObject:
	case datum.KindMissing:
		return w, document, invalidf("the value of %s is MISSING", r.statement.kind)
	default: // as handlers write it
		document = datum.Object(datum.Member{Name: valueMember, Value: document})
	}
	if w.Body, err = document.AppendJSON(nil, datum.MaxValueSize); err != nil {
		return w, document, err
	}
	if row.options != nil {
		if w.Expiry, err = expiration(row.options, e); err != nil {
			return w, document, err
		}
	}
	if r.statement.kind != Upsert {
		w.Expect = ExpectMissing
	}
	return w, document, nil
}

// expiration reads OPTIONS, {"expiration": seconds}.
func expiration(options expr, e *env) (int64, error) {
	v, err := options.eval(e)
	if err != nil || v.Unknown() {
		return 0, err
	}
	for _, m := range v.Fields() {
		if m.Name != "expiration" {
			return 0, invalidf("there is no option %s", m.Name)
		}
	}
	seconds := v.Field("expiration")
	n, ok := seconds.Num.Int()
	if v.Kind != datum.KindObject || v.Length() > 0 && (seconds.Kind != datum.KindNumber || !ok || n < 0) {
		return 0, invalidf(`OPTIONS are no object {"expiration": seconds}`)
	}
	return n, nil
}

// change does UPDATE and DELETE. The documents are found first and written then, each one where
// WHERE still holds, so that no document is found again in the place where the statement put it.
func (r *run) change() error {
	if err := r.bindAgain(); err != nil {
		return err
	}
	ids, err := r.targets()
	if err != nil {
		return err
	}
	for len(ids) > 0 && r.limit != 0 {
		n := min(len(ids), keysAtOnce)
		found, err := r.keyspace.Get(r.ctx, ids[:n])
		if err != nil {
			return err
		}
		ids = ids[n:]
		for i := range found {
			if r.limit >= 0 && r.mutations >= r.limit {
				return nil
			}
			if err := r.changeOne(&found[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// targets are the ids of the documents to be changed, each once.
func (r *run) targets() ([]string, error) {
	if r.byKeys {
		ids := slices.Clone(r.keys)
		slices.Sort(ids)
		return slices.Compact(ids), nil
	}
	if r.limit == 0 {
		return nil, nil
	}
	var ids []string
	err := r.documents(Find{}, func(e *env) (bool, error) {
		ids = append(ids, e.meta.ID)
		if len(ids) > maxKeptRows {
			return false, limitf("%s would change more than %d documents: use LIMIT", r.statement.kind, maxKeptRows)
		}
		return len(ids) != r.limit, r.memory.keep(len(e.meta.ID))
	})
	return ids, err
}

// changeOne changes a document if WHERE holds for it, as it is now.
func (r *run) changeOne(d *Document) error {
	for try := 1; ; try++ {
		_, err := r.visit(r.env(), d, func(e *env) (bool, error) {
			return false, r.apply(e, r.statement.kind == Delete)
		})
		var refused *Error
		if !errors.As(err, &refused) {
			return err
		}
		switch {
		case refused.Kind == KindMissing:
			return nil // deleted meanwhile: WHERE does not hold for it
		case refused.Kind != KindConflict || try == maxTries:
			return err
		}
		again, err := r.keyspace.Get(r.ctx, []string{d.ID})
		if err != nil {
			return err
		}
		d = &again[0]
	}
}

// apply removes or changes the document of an env.
func (r *run) apply(e *env, remove bool) error {
	w := Write{ID: e.meta.ID, Expect: ExpectCas, Cas: e.meta.Cas, Expiry: e.meta.Expiry}
	if remove {
		w.Delete, w.Expiry = true, 0
	} else {
		changed, err := r.changed(e, &w.Expiry)
		if err != nil {
			return err
		}
		if changed.Kind != datum.KindObject {
			return invalidf("%s: the document would be no object", e.meta.ID)
		}
		if w.Body, err = changed.AppendJSON(nil, datum.MaxValueSize); err != nil {
			return err
		}
		defer func(old datum.Value, meta *Document) { e.document, e.meta = old, meta }(e.document, e.meta)
		meta := *e.meta
		meta.Expiry = w.Expiry
		e.document, e.meta = changed, &meta
	}
	if err := r.keyspace.Write(r.ctx, w); err != nil {
		return err
	}
	return r.written(e)
}

// changed is the document after SET and UNSET, which may set its expiry, too. Values are evaluated
// with the document as it was.
func (r *run) changed(e *env, expiry *int64) (datum.Value, error) {
	document := e.document
	for _, a := range r.statement.set {
		var v datum.Value // MISSING removes
		if a.value != nil {
			var err error
			if v, err = a.value.eval(e); err != nil {
				return v, err
			}
		}
		if a.expiration {
			n, ok := v.Num.Int()
			if v.Kind != datum.KindNumber || !ok || n < 0 {
				return v, invalidf("%s: META().expiration is set to no number of seconds", e.meta.ID)
			}
			*expiry = n
			continue
		}
		path := a.path
		if path[0].name == e.alias {
			path = path[1:]
		}
		document = set(document, path, &v)
	}
	return document, nil
}

// set makes a value of another one with a part of it replaced, or removed where the new part is
// MISSING. Where the path leads through what is no object or array with that place, nothing
// changes.
func set(of datum.Value, path []step, v *datum.Value) datum.Value {
	if len(path) == 0 {
		return *v
	}
	s, rest := path[0], path[1:]
	switch {
	case s.isIndex && of.Kind == datum.KindArray:
		list := slices.Clone(of.Elements())
		i := s.at
		if i < 0 {
			i += int64(len(list))
		}
		if i < 0 || i >= int64(len(list)) {
			return of
		}
		if list[i] = set(list[i], rest, v); list[i].Kind == datum.KindMissing {
			list = slices.Delete(list, int(i), int(i)+1)
		}
		return datum.Array(list)
	case !s.isIndex && of.Kind == datum.KindObject:
		part := of.Field(s.name)
		return datum.Object(datum.SetMember(slices.Clone(of.Fields()), s.name, set(part, rest, v))...)
	}
	return of
}
