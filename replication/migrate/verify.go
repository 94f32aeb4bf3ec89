package migrate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/replication/site"
)

// Difference is a revision that is not the same on both sides.
type Difference struct {
	ID, Rev, What string
}

const (
	verifyBatch    = 500
	maxDifferences = 1000
	// A difference of a database that is written to may be that of a moment.
	lookAgain      = 3
	lookAgainAfter = 2 * time.Second
)

// verify compares all leaf revisions of both sides: the source's with their bodies and attachments,
// then by _revs_diff whether the target has others.
func (d *database) verify(ctx context.Context) error {
	set := d.m.settings()
	spec, err := d.spec(set, false)
	if err != nil {
		return err
	}
	spec.Options.UseCheckpoints = false
	source := replication.NewHTTPPeer(&spec.Source, &spec.Options, set)
	defer source.Close()
	target := replication.NewHTTPPeer(&spec.Target, &spec.Options, set)
	defer target.Close()
	if err := source.Open(ctx, false, nil); err != nil {
		return err
	}
	if err := target.Open(ctx, false, nil); err != nil {
		return err
	}
	err = d.batches(ctx, source, &spec.Options, func(rows []replication.IDRevs) error { return d.compare(ctx, rows) })
	if err != nil {
		return err
	}
	return d.batches(ctx, target, &spec.Options, func(rows []replication.IDRevs) error {
		missing, err := source.RevsDiff(ctx, rows)
		for _, doc := range missing {
			for _, rev := range doc.Revs {
				d.differ(doc.ID, rev.String(), "is only at the target")
			}
		}
		return err
	})
}

// batches reads the leaf revisions of a side.
func (d *database) batches(
	ctx context.Context,
	side replication.Peer,
	o *replication.Options,
	fn func([]replication.IDRevs) error,
) error {
	var rows []replication.IDRevs
	all := replication.ChangesRequest{Since: replication.FirstSequence, Options: o}
	_, err := side.Changes(ctx, all, func(row replication.ChangeRow) error {
		rows = append(rows, replication.IDRevs{ID: row.ID, Revs: row.Revs})
		if len(rows) < verifyBatch {
			return nil
		}
		batch := rows
		rows = nil
		return fn(batch)
	})
	if err == nil && len(rows) > 0 {
		err = fn(rows)
	}
	return err
}

// compare reads the same revisions from both sides. A difference counts only if it is still there
// after lookAgain attempts: the source may be written to while it is verified.
func (d *database) compare(ctx context.Context, rows []replication.IDRevs) error {
	var different []Difference
	for attempt := range lookAgain {
		if attempt > 0 {
			select {
			case <-time.After(lookAgainAfter):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		request := bulkGetBody(rows)
		want, err := d.bulkGet(ctx, d.m.o.Source, request)
		if err != nil {
			return err
		}
		have, err := d.bulkGet(ctx, d.m.o.Target, request)
		if err != nil {
			return err
		}
		different = different[:0]
		for key, doc := range want {
			if what := difference(doc, have[key]); what != "" {
				different = append(different, Difference{key.id, key.rev, what})
			}
		}
		if len(different) == 0 {
			d.compared.Add(int64(len(rows)))
			d.report.Verified += int64(len(want))
			return nil
		}
	}
	d.compared.Add(int64(len(rows)))
	for _, x := range different {
		d.differ(x.ID, x.Rev, x.What)
	}
	return nil
}

func (d *database) differ(id, rev, what string) {
	if len(d.report.Differences) < maxDifferences {
		d.report.Differences = append(d.report.Differences, Difference{id, rev, what})
	}
}

type revision struct{ id, rev string }

func bulkGetBody(rows []replication.IDRevs) []byte {
	b := []byte(`{"docs":[`)
	separator := ""
	for _, row := range rows {
		for _, rev := range row.Revs {
			b = ejson.AppendString(append(append(b, separator...), `{"id":`...), row.ID)
			b = append(rev.AppendJSON(append(b, `,"rev":`...)), '}')
			separator = ","
		}
	}
	return append(b, "]}"...)
}

// bulkGet reads revisions without the bytes of attachments; those that are not there are left out.
func (d *database) bulkGet(ctx context.Context, s *site.Site, body []byte) (map[revision]ejson.Value, error) {
	resp, err := s.Do(ctx, http.MethodPost, site.DBPath(d.name)+"/_bulk_get?revs=true", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	v, err := ejson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("answer of _bulk_get: %w", err)
	}
	found := make(map[revision]ejson.Value)
	results, _ := v.Get("results")
	for result := range results.Elements() {
		docs, _ := result.Get("docs")
		for e := range docs.Elements() {
			if doc, ok := e.Get("ok"); ok {
				id, _ := doc.Get("_id")
				rev, _ := doc.Get("_rev")
				found[revision{id.Text(), rev.Text()}] = doc
			}
		}
	}
	return found, nil
}

// difference says what differs, and is "" if nothing does.
func difference(want, have ejson.Value) string {
	if have.Kind() != ejson.Object {
		return "is missing at the target"
	}
	if a, b := members(want, false), members(have, false); !bytes.Equal(a, b) {
		return "has another body"
	}
	if a, b := members(want, true), members(have, true); !bytes.Equal(a, b) {
		return "has other attachments"
	}
	return differentLine(want, have)
}

// members are those of the body, or _attachments, in canonical form.
func members(doc ejson.Value, attachments bool) (b []byte) {
	for name, v := range doc.Members() {
		text := name.Text()
		switch {
		case text == "_revisions" || (text == "_attachments") != attachments:
		case attachments:
			b = attachmentsOf(b, v)
		case strings.HasPrefix(text, "_") && text != "_id" && text != "_deleted" && text != "_rev":
		default:
			b = append(v.AppendJSON(append(name.AppendJSON(b), ':')), ',')
		}
	}
	return b
}

// attachmentsOf are the parts that replication keeps.
func attachmentsOf(b []byte, v ejson.Value) []byte {
	for name, att := range v.Members() {
		b = name.AppendJSON(b)
		for _, member := range []string{"content_type", "revpos", "digest", "length"} {
			m, _ := att.Get(member)
			b = m.AppendJSON(append(b, ' '))
		}
	}
	return b
}

// differentLine allows for ancestors that one of the sides has forgotten.
func differentLine(want, have ejson.Value) string {
	lines := [2]compat.RevPath{}
	for i, doc := range []ejson.Value{want, have} {
		revisions, _ := doc.Get("_revisions")
		ids, _ := revisions.Get("ids")
		for id := range ids.Elements() {
			lines[i].IDs = append(lines[i].IDs, id.Text())
		}
	}
	for i := range min(len(lines[0].IDs), len(lines[1].IDs)) {
		if lines[0].IDs[i] != lines[1].IDs[i] {
			return "has other ancestors"
		}
	}
	return ""
}
