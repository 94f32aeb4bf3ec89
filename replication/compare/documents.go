package compare

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
)

const usersDB = "_users"

// leaf is a leaf revision without what takes room: a document may have 8 MB, and a batch of them
// is held of each side.
type leaf struct {
	body, attachments [sha256.Size]byte
	line              []string // hashes of its ancestors, newest first
}

// documents compares all documents, deleted ones too. The feed of each side says which there are:
// those of the first side are read from both; those of the second that the first has never heard
// of are found by _revs_diff, so that nothing is read twice.
func (d *database) documents(ctx context.Context) error {
	s := d.newSuspects(d.lookDocuments, func(id, what string) string {
		return fmt.Sprintf("%s: document %q %s", d.name, id, what)
	})
	defer func() { d.report.Revisions += s.parts }()
	if d.Sample > 0 {
		return errors.Join(d.sample(ctx, s), s.settle(ctx))
	}
	err := d.batches(ctx, d.a, func(ids []string, _ [][]byte) error {
		d.looked(len(ids))
		return s.first(ctx, ids)
	})
	if err != nil {
		return err
	}
	err = d.batches(ctx, d.b, func(_ []string, rows [][]byte) error {
		unknown, err := d.unknown(ctx, rows)
		d.looked(len(unknown))
		for _, id := range unknown {
			err = errors.Join(err, s.suspect(ctx, id))
		}
		return err
	})
	return errors.Join(err, s.settle(ctx))
}

// looked counts documents.
func (d *database) looked(n int) {
	d.report.Documents += int64(n)
	if d.Looked != nil {
		d.Looked(n)
	}
}

// feed gives the rows of a side's feed: one for each document, with all its leaves. It has no
// bodies, and every server streams it from an index; its order is each server's own.
func (d *database) feed(ctx context.Context, e end) iter.Seq2[[]byte, error] {
	return e.get(ctx, "/_changes?style=all_docs", "results")
}

// batches reads the feed of a side in batches of ids, and of members of a request to _revs_diff.
func (d *database) batches(
	ctx context.Context, e end, each func(ids []string, rows [][]byte) error,
) error {
	var ids []string
	var rows [][]byte
	for text, err := range d.feed(ctx, e) {
		if err != nil {
			return err
		}
		id, revs, err := changesRow(text)
		if err != nil {
			return err
		}
		if !d.counts(id) {
			continue
		}
		ids, rows = append(ids, id), append(rows, revs)
		if len(ids) < lookBatch {
			continue
		}
		if err := each(ids, rows); err != nil {
			return err
		}
		ids, rows = ids[:0], rows[:0]
	}
	if len(ids) == 0 {
		return nil
	}
	return each(ids, rows)
}

// counts reports whether a document is to be the same: of the users' database only the users are.
func (d *database) counts(id string) bool {
	// The design document of _users is made by each server for itself.
	return d.a.name != usersDB || strings.HasPrefix(id, "org.couchdb.user:")
}

// changesRow reads the id of a row, and its leaves as a member of the request of _revs_diff.
func changesRow(text []byte) (id string, revs []byte, err error) {
	row, err := ejson.Parse(text)
	if err != nil {
		return "", nil, err
	}
	name, _ := row.Get("id")
	changes, _ := row.Get("changes")
	if name.Kind() != ejson.String || changes.Kind() != ejson.Array {
		return "", nil, errStream
	}
	revs = append(name.AppendJSON(nil), `:[`...)
	separator := ""
	for change := range changes.Elements() {
		rev, _ := change.Get("rev")
		revs = rev.AppendJSON(append(revs, separator...))
		separator = ","
	}
	return name.Text(), append(revs, ']'), nil
}

// unknown are the documents of the second side that have a leaf which the first has not. A leaf
// that the first knows as an ancestor is no news: its own leaves were compared with both sides
// before.
func (d *database) unknown(ctx context.Context, rows [][]byte) (ids []string, err error) {
	body := append(append([]byte("{"), bytes.Join(rows, []byte(","))...), '}')
	var missing map[string]struct{ Missing []string }
	resp, err := d.a.Do(ctx, http.MethodPost, d.a.path+"/_revs_diff", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	err = decode(resp.Body, &missing)
	return slices.Collect(maps.Keys(missing)), err
}

// sample looks at documents that both feeds name, chosen so that each has the same chance.
func (d *database) sample(ctx context.Context, s *suspects) error {
	chosen := map[string]bool{}
	for _, e := range []end{d.a, d.b} {
		// The reservoir keeps each of the n ids so far with the chance Sample/n; one seed for both
		// sides chooses the same documents where both feeds have the same order.
		random := rand.New(rand.NewPCG(d.Seed, 0))
		var ids []string // a reservoir
		n := 0
		for text, err := range d.feed(ctx, e) {
			if err != nil {
				return err
			}
			id, _, err := changesRow(text)
			if err != nil {
				return err
			}
			if !d.counts(id) {
				continue
			}
			n++
			if len(ids) < d.Sample {
				ids = append(ids, id)
			} else if i := random.IntN(n); i < d.Sample {
				ids[i] = id
			}
		}
		for _, id := range ids {
			chosen[id] = true
		}
	}
	d.looked(len(chosen))
	return s.first(ctx, slices.Sorted(maps.Keys(chosen)))
}

// lookDocuments looks at documents.
func (d *database) lookDocuments(
	ctx context.Context, ids []string,
) (map[string]observation, error) {
	found := make(map[string]observation, len(ids))
	a, err := d.leaves(ctx, d.a, ids)
	if err != nil {
		return nil, err
	}
	b, err := d.leaves(ctx, d.b, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		found[id] = d.observe(a[id], b[id])
	}
	return found, nil
}

// observe compares the leaves of a document: the first differing one is told.
//
// The state is made of all leaves of both sides, also where they are the same: a document that
// gets a new leaf between two looks has not stood still.
func (d *database) observe(a, b map[string]leaf) (o observation) {
	o.parts = len(a)
	hash := sha256.New()
	all := maps.Clone(a)
	if all == nil {
		all = map[string]leaf{}
	}
	maps.Copy(all, b)
	for _, rev := range slices.Sorted(maps.Keys(all)) {
		x, atA := a[rev]
		y, atB := b[rev]
		fmt.Fprintln(hash, rev, atA, atB, x, y)
		what := d.missing(atA, atB)
		switch {
		case what != "":
		case x.body != y.body:
			what = "has another body"
		case x.attachments != y.attachments:
			what = "has other attachments"
		case !sameLine(x.line, y.line):
			what = "has other ancestors"
		}
		if what != "" && o.what == "" {
			o.what = "has a revision " + rev + " that " + what
		}
	}
	hash.Sum(o.state[:0])
	return o
}

// sameLine allows for ancestors that one of the sides has forgotten: _revs_limit and compactions
// cut lines where they like. What both still know has to be the same.
func sameLine(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// leaves reads all leaves of documents, by id and revision. The bytes of attachments are not sent:
// their digests are those of what is stored, as replication keeps it.
func (d *database) leaves(
	ctx context.Context, e end, ids []string,
) (map[string]map[string]leaf, error) {
	body := []byte(`{"docs":[`)
	for i, id := range ids {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(ejson.AppendString(append(body, `{"id":`...), id), '}')
	}
	// Without a revision all leaves are asked for, deleted ones too.
	found := make(map[string]map[string]leaf)
	asked := bytes.NewReader(append(body, "]}"...))
	for text, err := range e.stream(ctx, http.MethodPost, "/_bulk_get?revs=true", asked, "results") {
		if err == nil {
			err = readLeaves(text, found)
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// readLeaves takes the leaves out of an element of the answer of _bulk_get. A document that is not
// there has none.
func readLeaves(text []byte, found map[string]map[string]leaf) error {
	result, err := ejson.Parse(text)
	if err != nil {
		return err
	}
	docs, _ := result.Get("docs")
	for e := range docs.Elements() {
		doc, ok := e.Get("ok")
		if !ok {
			failed, _ := e.Get("error")
			if word, _ := failed.Get("error"); !word.TextIs("not_found") {
				return fmt.Errorf("answer of _bulk_get: %w: %s", errStream, word.Raw())
			}
			continue
		}
		id, _ := doc.Get("_id")
		rev, _ := doc.Get("_rev")
		if id.Kind() != ejson.String || rev.Kind() != ejson.String {
			return errStream
		}
		if found[id.Text()] == nil {
			found[id.Text()] = map[string]leaf{}
		}
		found[id.Text()][rev.Text()] = leafOf(doc)
	}
	return nil
}

// leafOf hashes what of a revision has to be the same. Members with a line below in front that are
// none of these say how the document was asked for. Values are hashed as they are printed, so that
// 1 and 1.0 differ, as they do for a revision's hash, and so do members in another order.
func leafOf(doc ejson.Value) (l leaf) {
	var body, attachments []byte
	for name, v := range doc.Members() {
		switch text := name.Text(); {
		case text == "_attachments":
			attachments = attachmentsOf(v)
		case text == "_revisions":
			ids, _ := v.Get("ids")
			for id := range ids.Elements() {
				l.line = append(l.line, id.Text())
			}
		case !strings.HasPrefix(text, "_") || text == "_deleted":
			body = append(v.AppendJSON(append(name.AppendJSON(body), ':')), ',')
		}
	}
	l.body, l.attachments = sha256.Sum256(body), sha256.Sum256(attachments)
	return l
}

// attachmentsOf are the parts of attachments that replication keeps, in the order of their names.
func attachmentsOf(v ejson.Value) []byte {
	var lines []string
	for name, att := range v.Members() {
		b := name.AppendJSON(nil)
		for _, member := range []string{"content_type", "revpos", "digest", "length"} {
			m, _ := att.Get(member)
			b = m.AppendJSON(append(b, ' '))
		}
		lines = append(lines, string(b))
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, "\n"))
}

// localRow is a local document in a list.
type localRow struct {
	id   string
	body [sha256.Size]byte
}

// localDocuments compares the bodies of local documents; their revisions belong to their server.
func (d *database) localDocuments(ctx context.Context) error {
	s := d.newSuspects(d.lookLocal, func(id, what string) string {
		return fmt.Sprintf("%s: local document %q %s", d.name, id, what)
	})
	list := func(e end) iter.Seq2[localRow, error] {
		return func(yield func(localRow, error) bool) {
			for text, err := range e.get(ctx, "/_local_docs?include_docs=true", "rows") {
				var row localRow
				if err == nil {
					row, err = readLocalRow(text)
				}
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
	// Both servers list them in the order of the bytes of ids.
	byID := func(x, y localRow) int { return strings.Compare(x.id, y.id) }
	err := merge(list(d.a), list(d.b), byID, func(x, y *localRow) error {
		d.report.Local++
		switch {
		case x == nil:
			return s.suspect(ctx, y.id)
		case y == nil || *x != *y:
			return s.suspect(ctx, x.id)
		}
		return nil
	})
	return errors.Join(err, s.settle(ctx))
}

func readLocalRow(text []byte) (row localRow, err error) {
	v, err := ejson.Parse(text)
	if err != nil {
		return row, err
	}
	id, _ := v.Get("id")
	doc, _ := v.Get("doc")
	if id.Kind() != ejson.String {
		return row, errStream
	}
	return localRow{id.Text(), leafOf(doc).body}, nil
}

// lookLocal looks at local documents.
func (d *database) lookLocal(ctx context.Context, ids []string) (map[string]observation, error) {
	return d.lookAt(ctx, ids, func(e end, id string) ([]byte, error) {
		path := "/_local/" + url.PathEscape(strings.TrimPrefix(id, "_local/"))
		doc, err := e.value(ctx, path)
		if err != nil {
			return nil, err
		}
		body := leafOf(doc).body
		return body[:], nil
	})
}

// lookAt looks at things that are one value each; one that is not there is nil. Any other answer
// than 404 is an error: a server that refuses to show something does not show that it is not
// there.
func (d *database) lookAt(
	ctx context.Context, keys []string, read func(e end, key string) ([]byte, error),
) (map[string]observation, error) {
	found := make(map[string]observation, len(keys))
	for _, key := range keys {
		var seen [2][]byte
		for i, e := range []end{d.a, d.b} {
			value, err := read(e, key)
			if err != nil && !absent(err) {
				return nil, err
			}
			if err == nil {
				seen[i] = value
			}
		}
		var o observation
		o.what = d.missing(seen[0] != nil, seen[1] != nil)
		if o.what == "" && !bytes.Equal(seen[0], seen[1]) {
			o.what = "is not the same"
		}
		o.state = sha256.Sum256(fmt.Appendf(nil, "%#v %#v", seen[0], seen[1]))
		found[key] = o
	}
	return found, nil
}

// value reads an answer that is one JSON value.
func (e end) value(ctx context.Context, path string) (ejson.Value, error) {
	resp, err := e.Do(ctx, http.MethodGet, e.path+path, nil)
	if err != nil {
		return ejson.Value{}, err
	}
	defer resp.Body.Close()
	text, err := readAll(resp.Body)
	if err != nil {
		return ejson.Value{}, err
	}
	return ejson.Parse(text)
}
