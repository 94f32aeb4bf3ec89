package n1ql

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// Query is a statement with values for its parameters. It is immutable.
type Query struct {
	statement *Statement
	params    map[string]datum.Value
	keyspace  string // "" if there is none
	alias     string
	joined    []string // the keyspaces of the joins, "" for UNNEST
	now       time.Time
	limit     int // -1 for none
	offset    int
	keys      []string // the only documents that can be meant, if byKeys
	byKeys    bool
	queries   []*Query // of the statement's subqueries
}

// Bind gives values to the parameters: a JSON object whose names may have the dollar or colon in
// front, or an array for those that are numbers, from 1. Without parameters it may be empty. Errors
// are *Errors.
func (s *Statement) Bind(params []byte) (*Query, error) {
	q := &Query{statement: s, now: time.Now(), limit: -1}
	if err := q.bindParams(params); err != nil {
		return nil, err
	}
	for _, inner := range s.queries {
		bound := &Query{statement: inner, now: q.now, limit: -1, params: q.params}
		if err := bound.bindNames(); err != nil {
			return nil, err
		}
		q.queries = append(q.queries, bound)
	}
	if err := q.bindNames(); err != nil {
		return nil, err
	}
	return q, q.bindKeys(q.env(context.Background()))
}

// bindNames finds the names of the keyspaces, and evaluates LIMIT and OFFSET.
func (q *Query) bindNames() (err error) {
	s := q.statement
	if s.from != nil {
		if s.from.isKeyspace() {
			if q.keyspace, err = q.nameOf(s.from); err != nil {
				return err
			}
		}
		q.alias = s.from.aliasOf(q.keyspace)
	}
	for _, j := range s.joins {
		name := ""
		if j.keyspace != nil {
			if name, err = q.nameOf(j.keyspace); err != nil {
				return err
			}
		}
		q.joined = append(q.joined, name)
	}
	if s.limit != nil {
		if q.limit, err = q.count(s.limit, "LIMIT"); err != nil {
			return err
		}
	}
	if s.offset != nil {
		q.offset, err = q.count(s.offset, "OFFSET")
	}
	return err
}

// nameOf is the name of a keyspace, which may be a parameter: a name or a path, with or without backticks.
func (q *Query) nameOf(k *keyspaceRef) (string, error) {
	if k.param == "" {
		return k.name, nil
	}
	v := q.params[k.param]
	if v.Kind != datum.KindString || v.Text == "" {
		return "", invalidf("the keyspace $%s is no string", k.param)
	}
	parts := strings.Split(strings.TrimPrefix(v.Text, "default:"), ".")
	for i := range parts {
		parts[i] = strings.Trim(parts[i], "`")
	}
	if len(parts) == 3 {
		return keyspaceName(parts[0], parts[1], parts[2]), nil
	}
	return strings.Join(parts, "."), nil
}

// bindParams reads the parameters. All that the statement has must be there.
func (q *Query) bindParams(params []byte) error {
	q.params = make(map[string]datum.Value, len(q.statement.params))
	if len(bytes.TrimSpace(params)) > 0 {
		v, err := ejson.Parse(bytes.Clone(params))
		if err != nil {
			return invalidf("the parameters are no JSON")
		}
		for name, p := range v.Members() {
			plain := name.Text()
			if strings.HasPrefix(plain, "$") || strings.HasPrefix(plain, ":") {
				plain = plain[1:]
			}
			q.params[plain] = datum.FromJSON(p)
		}
		i := 0
		for p := range v.Elements() {
			i++
			q.params[fmt.Sprint(i)] = datum.FromJSON(p)
		}
	}
	for _, name := range q.statement.params {
		if _, ok := q.params[name]; !ok {
			return invalidf("the parameter $%s has no value", name)
		}
	}
	return nil
}

// count evaluates LIMIT or OFFSET.
func (q *Query) count(x expr, clause string) (int, error) {
	v, err := x.eval(q.env(context.Background()))
	if err != nil {
		return 0, err
	}
	n, ok := v.Num.Int()
	if v.Kind != datum.KindNumber || !ok {
		return 0, invalidf("%s is no integer", clause)
	}
	return int(min(max(n, 0), math.MaxInt32)), nil
}

// bindKeys finds out whether the documents are known by their ids. Those that subqueries give are
// only known when it runs.
func (q *Query) bindKeys(e *env) error {
	q.keys, q.byKeys = nil, false
	if q.statement.keys == nil {
		if q.statement.keyspace() != "" {
			q.keys, q.byKeys = keysOf(q.statement.where, e)
		}
		return nil
	}
	q.byKeys = true
	v, err := q.statement.keys.eval(e)
	switch {
	case err == errNotRunning:
		return nil
	case err != nil:
		return err
	case v.Unknown():
		return nil
	case v.Kind == datum.KindString:
		q.keys = []string{v.Text}
		return nil
	case v.Kind != datum.KindArray:
		return invalidf("USE KEYS needs a string or an array of strings")
	}
	for _, key := range v.Elements() {
		if key.Kind != datum.KindString {
			return invalidf("USE KEYS needs a string or an array of strings")
		}
		q.keys = append(q.keys, key.Text)
	}
	return nil
}

// Keyspaces gives the names of the keyspaces, also of those that are parameters.
func (q *Query) Keyspaces() []string {
	names := append([]string{q.keyspace}, q.joined...)
	for _, inner := range q.queries {
		names = append(append(names, inner.keyspace), inner.joined...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// Selector is what Find gets to look for documents: nil if that is all, or if they are read by their ids.
func (q *Query) Selector() []byte {
	if q.byKeys {
		return nil
	}
	return selectorFor(q.statement.where, q.env(context.Background()))
}

func (q *Query) env(ctx context.Context) *env {
	return &env{ctx: ctx, params: q.params, alias: q.alias, now: q.now, statement: q.statement}
}

// Rows runs the query. SELECT reads while the rows are fetched; other statements are done when Rows returns, so that
// only RETURNING has rows. What a failed statement has written before stays written. The Rows must be closed.
func (q *Query) Rows(ctx context.Context, keyspaces Keyspaces) (*Rows, error) {
	w := &work{memory: memory{ask: keyspaces.Hold}, queries: map[*Statement]*run{}}
	for _, inner := range q.queries {
		r, err := inner.open(ctx, keyspaces, w)
		if err != nil {
			return nil, err
		}
		w.queries[inner.statement] = r
	}
	r, err := q.open(ctx, keyspaces, w)
	switch {
	case err != nil:
		return nil, err
	case q.statement.kind == Select:
		return pull(r.selectRows), nil
	case q.statement.kind == Insert, q.statement.kind == Upsert:
		err = r.insert()
	case q.statement.kind == Merge:
		err = r.merge()
	default:
		err = r.change()
	}
	if err != nil {
		return nil, limited(err)
	}
	rows := pull(r.returned)
	rows.mutations = r.mutations
	return rows, nil
}

// open opens the keyspaces of a statement.
func (q *Query) open(ctx context.Context, keyspaces Keyspaces, w *work) (*run, error) {
	own := *q
	r := &run{Query: &own, ctx: ctx, work: w, memory: &w.memory}
	for i, name := range append([]string{q.keyspace}, q.joined...) {
		var opened Keyspace
		if name != "" {
			var err error
			if opened, err = keyspaces.Open(ctx, name); err != nil {
				return nil, err
			}
		}
		if i == 0 {
			r.keyspace = opened
		} else {
			r.others = append(r.others, opened)
		}
	}
	return r, nil
}

// bindAgain finds out about the ids once more where subqueries may say them.
func (r *run) bindAgain() error {
	if len(r.work.queries) == 0 {
		return nil
	}
	return r.bindKeys(r.env())
}
