package compare

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"net/url"
	"strings"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/replication/site"
)

// maxOfView is the number of differing rows from which on a view is not looked at any further.
const maxOfView = 100

// view is a view on both sides.
type view struct {
	*database
	path    string // below the database
	title   string
	raw     bool // the collation
	reduced bool // groups are compared, else rows
}

// views compares the rows of the views that the design documents of the first side have. One that
// is only at the second is a document that differs already.
func (d *database) views(ctx context.Context) error {
	list := "/_all_docs?include_docs=true&start_key=%22_design%2F%22&end_key=%22_design0%22"
	for text, err := range d.a.get(ctx, list, "rows") {
		if err != nil {
			return err
		}
		row, err := ejson.Parse(text)
		if err != nil {
			return err
		}
		doc, _ := row.Get("doc")
		if err := d.design(ctx, doc); err != nil {
			return err
		}
	}
	return nil
}

// design compares the views of a design document, and notes those that could not be compared:
// another view may well be.
func (d *database) design(ctx context.Context, doc ejson.Value) error {
	id, _ := doc.Get("_id")
	name, _ := strings.CutPrefix(id.Text(), "_design/")
	language, _ := doc.Get("language")
	options, _ := doc.Get("options")
	collation, _ := options.Get("collation")
	views, _ := doc.Get("views")
	if language.TextIs("query") {
		d.report.Views++ // an index of _find has no rows that anybody is shown
		return nil
	}
	for member, source := range views.Members() {
		if member.TextIs("lib") {
			continue
		}
		v := &view{database: d, raw: collation.TextIs("raw"), title: name + "/" + member.Text()}
		v.path = "/_design/" + url.PathEscape(name) + "/_view/" + url.PathEscape(member.Text())
		_, reduces := source.Get("reduce")
		err := v.whole(ctx, reduces)
		if errors.Is(err, errByPartition) {
			err = v.byPartition(ctx, reduces)
		}
		d.report.Views++
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			d.failed(fmt.Sprintf("%s: view %s: %v", d.name, v.title, err))
		}
	}
	return nil
}

// whole compares the rows, and the groups of a view that reduces.
func (v *view) whole(ctx context.Context, reduces bool) error {
	v.reduced = false
	err := v.compare(ctx)
	if err == nil && reduces {
		v.reduced = true
		err = v.compare(ctx)
	}
	return err
}

// errByPartition is the answer of a view that only has rows for who names a partition.
var errByPartition = errors.New("it has to be asked by partition")

// byPartition compares what the view has for each partition, one after the other. A sample ends
// with the partition that makes it full.
func (v *view) byPartition(ctx context.Context, reduces bool) error {
	before := v.report.Rows
	for name, err := range v.partitions(ctx) {
		if err != nil {
			return err
		}
		part := *v
		part.path = "/_partition/" + url.PathEscape(name) + v.path
		part.title = fmt.Sprintf("%s of partition %q", v.title, name)
		if err := part.whole(ctx, reduces); err != nil {
			return fmt.Errorf("partition %q: %w", name, err)
		}
		if v.Sample > 0 && v.report.Rows-before >= int64(v.Sample) {
			return nil
		}
	}
	return nil
}

// partitions gives the names of the partitions that the first side has documents of; no server
// lists them. Ids are in the order of bytes, so that one document tells of a partition, and the next
// one begins behind all that start with its name and a colon. What only the second side has are
// documents that differ already.
func (d *database) partitions(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for from := ""; ; {
			start := url.QueryEscape(string(ejson.AppendString(nil, from)))
			var id string
			for text, err := range d.a.get(ctx, "/_all_docs?limit=1&start_key="+start, "rows") {
				var row ejson.Value
				if err == nil {
					row, err = ejson.Parse(text)
				}
				if err != nil {
					yield("", err)
					return
				}
				member, _ := row.Get("id")
				id = member.Text()
			}
			name, _, found := strings.Cut(id, ":")
			switch {
			case id == "":
				return
			case id < from: // it would be asked for ever
				yield("", errStream)
				return
			case strings.HasPrefix(id, "_design/"):
				from = "_design0"
				continue
			case !found: // no document of a partition
				from = id + "\x00"
				continue
			}
			if !yield(name, nil) {
				return
			}
			from = name + ";"
		}
	}
}

// tally is what a view has for a key: the rows of one document, or a group. It is what is
// suspected and looked at again as a whole, since rows of one document with one key have no name
// of their own.
type tally struct {
	key   ejson.Value
	id    string
	n     uint64    // rows
	sum   [4]uint64 // of the hashes of their values: the order of equal keys does not count
	value ejson.Value
}

// compare walks the rows, or groups, of both sides. Lists may be longer than memory: both are read
// as they come, and only what does not agree is remembered, by name. A view in which nearly all
// differs is given up after a while, which is told as something that was not looked at.
func (v *view) compare(ctx context.Context) error {
	if answered, err := v.answers(ctx); err != nil || !answered {
		return err
	}
	s := v.newSuspects(v.lookTallies, func(key, what string) string {
		kind := "row"
		if v.reduced {
			kind = "group"
		}
		return fmt.Sprintf("%s: view %s, %s %s %s", v.name, v.title, kind, key, what)
	})
	err := merge(v.tallies(ctx, v.a), v.tallies(ctx, v.b), v.order, func(x, y *tally) error {
		if v.reduced {
			v.report.Groups++
		} else {
			v.report.Rows++
		}
		if x != nil && y != nil && v.same(x, y) {
			return nil
		}
		if x == nil {
			x = y
		}
		if s.reported >= maxOfView {
			return fmt.Errorf("more than %d rows differ: not looked at to the end", maxOfView)
		}
		return s.suspect(ctx, string(v.keyOf(x)))
	})
	return errors.Join(err, s.settle(ctx))
}

// answers reports whether both sides answer. No row is asked for: the request ends when the index
// is built, so that what is read after it costs no time limit. A view that fails on both in the
// same way is the same.
func (v *view) answers(ctx context.Context) (bool, error) {
	words, all := [2]string{}, true
	for i, e := range []end{v.a, v.b} {
		err := e.Send(ctx, http.MethodGet, e.path+v.path+"?limit=0&reduce=false", nil)
		failed, answered := errors.AsType[*site.Error](err)
		if err != nil && !answered {
			return false, err
		}
		if answered {
			words[i], all = failed.Word+": "+failed.Reason, false
			if failed.Word == "query_parse_error" {
				return false, errByPartition
			}
		}
	}
	if all || words[0] == words[1] {
		return all, nil
	}
	if words[0] != "" && words[1] != "" {
		return false, fmt.Errorf("it fails on both sides: %s; %s", words[0], words[1])
	}
	side := 0
	if words[1] != "" {
		side = 1
	}
	v.differs(fmt.Sprintf("%s: view %s fails at %s: %s", v.name, v.title, v.Names[side], words[side]))
	return false, nil
}

// query is the path of a request. A sample is the begin of the list: rows have no numbers by which
// others could be chosen on both sides alike.
func (v *view) query() string {
	q := v.path + "?reduce=false"
	if v.reduced {
		q = v.path + "?group=true"
	}
	if v.Sample > 0 {
		q += fmt.Sprintf("&limit=%d", v.Sample)
	}
	return q
}

// tallies reads a side. Rows that belong together follow one another. Of a list that was cut the
// last ones are left out, since others may belong to them.
func (v *view) tallies(ctx context.Context, e end) iter.Seq2[tally, error] {
	return func(yield func(tally, error) bool) {
		var current tally
		n := 0
		for text, err := range e.get(ctx, v.query(), "rows") {
			var row tally
			if err == nil {
				row, err = readTally(text, v.reduced)
			}
			if err != nil {
				yield(current, err)
				return
			}
			if n++; current.n > 0 && current.id == row.id && collate.Identical(current.key, row.key) {
				current.add(&row)
				continue
			}
			if current.n > 0 && !yield(current, nil) {
				return
			}
			current = row
		}
		switch {
		case v.Sample > 0 && n == v.Sample:
			yield(current, errCutShort)
		case current.n > 0:
			yield(current, nil)
		}
	}
}

// add counts another row of the same key and document. Sums of hashes tell lists of values from
// one another whatever their order.
func (t *tally) add(row *tally) {
	t.n += row.n
	for i := range t.sum {
		t.sum[i] += row.sum[i]
	}
}

// readTally reads a row. Of its value a hash is kept unless it was reduced, when numbers in it
// have to be looked at.
func readTally(text []byte, reduced bool) (t tally, err error) {
	row, err := ejson.Parse(bytes.Clone(text)) // keys stay while the other side is read
	if err != nil {
		return t, err
	}
	var ok bool
	if t.key, ok = row.Get("key"); !ok {
		return t, errStream
	}
	id, _ := row.Get("id")
	t.id, t.n = id.Text(), 1
	value, _ := row.Get("value")
	if reduced {
		t.value = value
		return t, nil
	}
	hash := sha256.Sum256(value.AppendJSON(nil))
	for i := range t.sum {
		t.sum[i] = binary.BigEndian.Uint64(hash[8*i:])
	}
	return t, nil
}

// order is that in which views have their rows. Where a server's ICU has another one, rows are
// suspected that are the same, and a look at each clears it.
func (v *view) order(x, y tally) int {
	compare := collate.Compare
	if v.raw {
		compare = collate.CompareRaw
	}
	if c := compare(x.key, y.key); c != 0 {
		return c
	}
	return strings.Compare(x.id, y.id)
}

func (v *view) same(x, y *tally) bool {
	if v.reduced {
		return nearly(x.value, y.value)
	}
	return x.n == y.n && x.sum == y.sum && collate.Identical(x.key, y.key)
}

// keyOf names a tally: an array of its key and, where it has one, its document's id. It is JSON,
// so that it can be shown as it is, and be asked for again.
func (v *view) keyOf(t *tally) []byte {
	b := t.key.AppendJSON([]byte{'['})
	if !v.reduced {
		b = ejson.AppendString(append(b, ','), t.id)
	}
	return append(b, ']')
}

// lookTallies looks at rows or groups by their names.
func (v *view) lookTallies(ctx context.Context, keys []string) (map[string]observation, error) {
	found := make(map[string]observation, len(keys))
	for _, name := range keys {
		var seen [2]*tally
		for i, e := range []end{v.a, v.b} {
			t, err := v.lookTally(ctx, e, name)
			if err != nil {
				return nil, err
			}
			seen[i] = t
		}
		x, y := seen[0], seen[1]
		o := observation{what: v.missing(x != nil, y != nil)}
		if o.what == "" && x != nil && !v.same(x, y) {
			o.what = "has another value"
		}
		hash := sha256.New()
		for _, t := range seen {
			if t != nil {
				fmt.Fprintln(hash, t.n, t.sum, string(t.value.AppendJSON(nil)))
			}
			fmt.Fprintln(hash)
		}
		hash.Sum(o.state[:0])
		found[name] = o
	}
	return found, nil
}

// lookTally asks a side for one name; nil if it has nothing there. The question is a range of one
// key, and of one document where rows are asked for, so that it costs the same in a view of any
// size.
func (v *view) lookTally(ctx context.Context, e end, name string) (*tally, error) {
	parts, err := ejson.Parse([]byte(name))
	if err != nil {
		return nil, err
	}
	var key, id ejson.Value
	for part := range parts.Elements() {
		if key.Kind() == ejson.Invalid {
			key = part
		} else {
			id = part
		}
	}
	body := key.AppendJSON(append(key.AppendJSON([]byte(`{"start_key":`)), `,"end_key":`...))
	if v.reduced {
		body = append(body, `,"group":true}`...)
	} else {
		body = id.AppendJSON(append(body, `,"reduce":false,"start_key_doc_id":`...))
		body = append(id.AppendJSON(append(body, `,"end_key_doc_id":`...)), '}')
	}
	var all *tally
	for text, err := range e.stream(ctx, http.MethodPost, v.path, bytes.NewReader(body), "rows") {
		if err != nil {
			return nil, err
		}
		row, err := readTally(text, v.reduced)
		if err != nil {
			return nil, err
		}
		if !collate.Identical(row.key, key) || row.id != id.Text() { // keys that collate alike
			continue
		}
		if all == nil {
			all = &row
		} else {
			all.add(&row)
		}
	}
	return all, nil
}

// nearlyEqual is how far numbers of reduced values may be apart, as a part of the greater one: the
// order in which numbers were added up is the server's.
const nearlyEqual = 1e-9

// nearly compares reduced values, numbers within nearlyEqual and all else exactly. It goes into
// arrays and objects, as _stats and _sum of arrays make them.
func nearly(x, y ejson.Value) bool {
	a, numberA := x.Float()
	b, numberB := y.Float()
	switch {
	case numberA && numberB:
		return a == b || math.Abs(a-b) <= nearlyEqual*max(math.Abs(a), math.Abs(b))
	case x.Kind() != y.Kind() || x.Len() != y.Len():
		return false
	case x.Kind() == ejson.Array:
		next, stop := iter.Pull(y.Elements())
		defer stop()
		for e := range x.Elements() {
			if other, _ := next(); !nearly(e, other) {
				return false
			}
		}
		return true
	case x.Kind() == ejson.Object:
		for name, e := range x.Members() {
			if other, ok := y.Get(name.Text()); !ok || !nearly(e, other) {
				return false
			}
		}
		return true
	}
	return collate.Identical(x, y)
}
