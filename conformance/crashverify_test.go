package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// verifyAfterCrash compares everything the server shows with what the writers know, and takes over
// what was unsure. Contents of attachments are read where the documents were touched since the last
// time, or all of them.
func verifyAfterCrash(t *testing.T, c *client, writers []*crashWriter, all bool) {
	t.Helper()
	docs := map[string]*crashDoc{}
	for _, w := range writers {
		for id, d := range w.docs {
			docs[id] = d
		}
		for id, l := range w.locals {
			verifyLocal(t, c, id, l)
		}
		w.side.verify(t, c)
	}
	var touched, others []string
	for id, d := range docs {
		if all || d.touched {
			touched = append(touched, id)
		} else {
			others = append(others, id)
		}
	}
	verifyLeaves(t, c, docs, touched, true)
	verifyLeaves(t, c, docs, others, false)
	verifyIndexes(t, c, docs)
	verifyDatabases(t, c, writers)
}

// verifyLeaves reads all leaves of documents.
func verifyLeaves(t *testing.T, c *client, docs map[string]*crashDoc, ids []string, contents bool) {
	t.Helper()
	for part := range slices.Chunk(ids, 100) {
		var asked []map[string]string
		for _, id := range part {
			asked = append(asked, map[string]string{"id": id})
		}
		query := ""
		if contents {
			query = "?attachments=true"
		}
		body := string(encode(map[string]any{"docs": asked}))
		var got struct{ Results []bulkGetRow }
		c.decode(
			c.want(http.StatusOK, c.do("POST", "/"+crashDB+"/_bulk_get"+query, body, "Accept", "application/json")),
			&got,
		)
		if len(got.Results) != len(part) {
			t.Errorf("_bulk_get of %d: %d results", len(part), len(got.Results))
		}
		for _, row := range got.Results {
			d := docs[row.ID]
			if err := d.resolve(row.leaves()); err != nil {
				t.Errorf("%s: %v", row.ID, err)
			}
			d.touched = false
		}
	}
}

// bulkGetRow is one result of _bulk_get.
type bulkGetRow struct {
	ID   string
	Docs []struct {
		OK *struct {
			Rev         string `json:"_rev"`
			Deleted     bool   `json:"_deleted"`
			Marker      string
			Attachments map[string]struct {
				Data   []byte
				Digest string
				Length int
			} `json:"_attachments"`
		}
	}
}

func (r *bulkGetRow) leaves() map[string]crashLeaf {
	leaves := map[string]crashLeaf{}
	for _, d := range r.Docs {
		if d.OK == nil {
			continue // not found
		}
		leaf := crashLeaf{Deleted: d.OK.Deleted, Marker: d.OK.Marker, Atts: map[string]string{}}
		for name, a := range d.OK.Attachments {
			leaf.Atts[name] = fmt.Sprintf("%d %s", a.Length, a.Digest)
			if a.Length == 0 { // whole contents carry no length
				leaf.Atts[name] = contentTag(a.Data)
			}
		}
		leaves[d.OK.Rev] = leaf
	}
	return leaves
}

// verifyIndexes compares the feed, the list of ids and the counters with the documents.
func verifyIndexes(t *testing.T, c *client, docs map[string]*crashDoc) {
	t.Helper()
	feed := map[string]change{}
	last := -1
	for _, row := range c.changes(crashDB, "?style=all_docs").Results {
		if _, twice := feed[row.ID]; twice {
			t.Errorf("%s is twice in the feed", row.ID)
		}
		feed[row.ID] = row
		if n := sequenceNumber(t, *row.Seq); n <= last {
			t.Errorf("%s: sequence %d after %d", row.ID, n, last)
		} else {
			last = n
		}
	}
	var list struct {
		Total int `json:"total_rows"`
		Rows  []struct {
			ID    string
			Value struct{ Rev string }
		}
	}
	c.decode(c.want(http.StatusOK, c.do("GET", "/"+crashDB+"/_all_docs", "")), &list)
	listed := map[string]string{}
	for i, row := range list.Rows {
		listed[row.ID] = row.Value.Rev
		if i > 0 && list.Rows[i-1].ID >= row.ID {
			t.Errorf("_all_docs: %s after %s", row.ID, list.Rows[i-1].ID)
		}
	}
	live, deleted := 0, 0
	for id, d := range docs {
		winner := d.winner()
		row, found := feed[id]
		delete(feed, id)
		switch {
		case winner == "" && found:
			t.Errorf("%s is in the feed, but does not exist", id)
		case winner == "":
		case !found || row.Deleted == d.live() || row.Changes[0].Rev != winner || len(row.Changes) != len(d.leaves):
			t.Errorf("%s: %+v in the feed, winner %s (live %t), %d leaves", id, row, winner, d.live(), len(d.leaves))
		case d.live():
			live++
		default:
			deleted++
		}
		if rev := listed[id]; d.live() && rev != winner || !d.live() && rev != "" {
			t.Errorf("%s: %q in _all_docs, winner %s (live %t)", id, rev, winner, d.live())
		}
		delete(listed, id)
	}
	for id := range feed {
		t.Errorf("nobody wrote %s", id)
	}
	for id := range listed {
		t.Errorf("nobody wrote %s", id)
	}
	var info struct {
		Docs    int `json:"doc_count"`
		Deleted int `json:"doc_del_count"`
	}
	c.decode(c.want(http.StatusOK, c.do("GET", "/"+crashDB, "")), &info)
	if info.Docs != live || info.Deleted != deleted || list.Total != live {
		t.Errorf(
			"counts %d and %d, total_rows %d; %d live and %d deleted",
			info.Docs,
			info.Deleted,
			list.Total,
			live,
			deleted,
		)
	}
}

// verifyDatabases compares the list of databases.
func verifyDatabases(t *testing.T, c *client, writers []*crashWriter) {
	t.Helper()
	var names []string
	c.decode(c.want(http.StatusOK, c.do("GET", "/_all_dbs", "")), &names)
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "_") })
	want := []string{crashDB}
	for _, w := range writers {
		if w.side.exists {
			want = append(want, w.side.name)
		}
	}
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("databases %v instead of %v", names, want)
	}
}

// crashFollower keeps a copy of the feed: it reads it continuously and, after a crash, goes on from
// the last sequence it saw.
type crashFollower struct {
	base    string
	since   string
	revs    map[string]string // id -> the revisions of its last row
	failure error
}

type followedRow struct {
	ID      string
	Seq     string
	LastSeq string `json:"last_seq"`
	Changes []struct{ Rev string }
}

// run follows until ctx ends or the server is gone.
func (f *crashFollower) run(ctx context.Context) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		f.base+"/"+crashDB+"/_changes?feed=continuous&style=all_docs&since="+f.since, nil)
	if err != nil {
		f.failure = err
		return
	}
	req.SetBasicAuth(AdminName, AdminPassword)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return // it may be dead already
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		f.failure = fmt.Errorf("status %d", resp.StatusCode)
		return
	}
	var partial []byte
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		partial = append(partial, buf[:n]...)
		for {
			line, rest, whole := bytes.Cut(partial, []byte("\n"))
			if !whole {
				break
			}
			partial = rest
			f.take(line)
		}
		if err != nil || f.failure != nil {
			return
		}
	}
}

func (f *crashFollower) take(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	var row followedRow
	if err := json.Unmarshal(line, &row); err != nil {
		f.failure = fmt.Errorf("%w in %q", err, line)
		return
	}
	if row.LastSeq == "" {
		f.row(&row)
	}
}

func (f *crashFollower) row(r *followedRow) {
	f.since = r.Seq
	var revs []string
	for _, ch := range r.Changes {
		revs = append(revs, ch.Rev)
	}
	f.revs[r.ID] = strings.Join(revs, " ")
}

// verify reads what the follower has missed and compares its copy with the whole feed. Purges do
// not show in a feed, so documents that are purged are left out.
func (f *crashFollower) verify(t *testing.T, c *client) {
	t.Helper()
	read := func(since string, row func(*followedRow)) {
		var feed struct{ Results []*followedRow }
		c.decode(c.want(http.StatusOK, c.do("GET", "/"+crashDB+"/_changes?style=all_docs&since="+since, "")), &feed)
		for _, r := range feed.Results {
			row(r)
		}
	}
	read(f.since, f.row)
	whole := &crashFollower{revs: map[string]string{}}
	read("0", whole.row)
	for id, revs := range whole.revs {
		if f.revs[id] != revs {
			t.Errorf("%s: a follower has %q instead of %q", id, f.revs[id], revs)
		}
	}
	for id, revs := range f.revs {
		if _, there := whole.revs[id]; !there && !strings.Contains(id, "-p") {
			t.Errorf("%s: a follower saw %q, and it is gone", id, revs)
		}
	}
}
