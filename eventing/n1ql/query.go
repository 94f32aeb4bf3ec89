package n1ql

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/settee-db/settee/compat/ejson"
)

// Query is a statement with values for its parameters. It is immutable.
type Query struct {
	statement *Statement
	params    map[string]value
	keyspace  string // "" if there is none
	alias     string
	now       time.Time
	limit     int // -1 for none
	offset    int
	keys      []string // the only documents that can be meant, if byKeys
	byKeys    bool
}

// Bind gives values to the parameters: a JSON object whose names may have the dollar or colon in
// front, or an array for those that are numbers, from 1. Without parameters it may be empty. Errors
// are *Errors.
func (s *Statement) Bind(params []byte) (*Query, error) {
	q := &Query{statement: s, now: time.Now(), limit: -1}
	if err := q.bindParams(params); err != nil {
		return nil, err
	}
	if s.from != nil {
		q.keyspace = s.from.name
		if s.from.param != "" {
			v := q.params[s.from.param]
			if v.kind != kindString || v.text == "" {
				return nil, invalidf("the keyspace $%s is no string", s.from.param)
			}
			q.keyspace = strings.Trim(v.text, "`")
		}
		q.alias = s.from.aliasOf(q.keyspace)
	}
	var err error
	if s.limit != nil {
		if q.limit, err = q.count(s.limit, "LIMIT"); err != nil {
			return nil, err
		}
	}
	if s.offset != nil {
		if q.offset, err = q.count(s.offset, "OFFSET"); err != nil {
			return nil, err
		}
	}
	return q, q.bindKeys()
}

// bindParams reads the parameters. All that the statement has must be there.
func (q *Query) bindParams(params []byte) error {
	q.params = make(map[string]value, len(q.statement.params))
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
			q.params[plain] = fromJSON(p)
		}
		i := 0
		for p := range v.Elements() {
			i++
			q.params[fmt.Sprint(i)] = fromJSON(p)
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
	n, ok := v.num.int()
	if v.kind != kindNumber || !ok {
		return 0, invalidf("%s is no integer", clause)
	}
	return int(min(max(n, 0), math.MaxInt32)), nil
}

// bindKeys finds out whether the documents are known by their ids.
func (q *Query) bindKeys() error {
	e := q.env(context.Background())
	if q.statement.keys == nil {
		if q.statement.from != nil {
			q.keys, q.byKeys = keysOf(q.statement.where, e)
		}
		return nil
	}
	q.byKeys = true
	v, err := q.statement.keys.eval(e)
	switch {
	case err != nil:
		return err
	case v.unknown():
		return nil
	case v.kind == kindString:
		q.keys = []string{v.text}
		return nil
	case v.kind != kindArray:
		return invalidf("USE KEYS needs a string or an array of strings")
	}
	for _, key := range v.elements() {
		if key.kind != kindString {
			return invalidf("USE KEYS needs a string or an array of strings")
		}
		q.keys = append(q.keys, key.text)
	}
	return nil
}

// Keyspace gives the name of the keyspace, also if that is a parameter; "" for a statement without one.
func (q *Query) Keyspace() string { return q.keyspace }

// Selector is what Find gets to look for documents: nil if that is all, or if they are read by their ids.
func (q *Query) Selector() []byte {
	if q.byKeys {
		return nil
	}
	return selectorFor(q.statement.where, q.env(context.Background()))
}

func (q *Query) env(ctx context.Context) *env {
	return &env{ctx: ctx, params: q.params, alias: q.alias, now: q.now}
}

// Rows runs the query. SELECT reads while the rows are fetched; other statements are done when Rows returns, so that
// only RETURNING has rows. What a failed statement has written before stays written. The Rows must be closed.
func (q *Query) Rows(ctx context.Context, keyspaces Keyspaces) (*Rows, error) {
	r := &run{Query: q, ctx: ctx, memory: memory{ask: keyspaces.Hold}}
	if q.statement.from != nil {
		var err error
		if r.keyspace, err = keyspaces.Open(ctx, q.keyspace); err != nil {
			return nil, err
		}
	}
	switch q.statement.kind {
	case Select:
		return pull(r.selectRows), nil
	case Insert, Upsert:
		if err := r.insert(); err != nil {
			return nil, err
		}
	default:
		if err := r.change(); err != nil {
			return nil, err
		}
	}
	rows := pull(r.returned)
	rows.mutations = r.mutations
	return rows, nil
}
