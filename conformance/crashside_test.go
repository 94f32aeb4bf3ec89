package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
)

// crashLocal is a _local document: its marker, "" if there is none.
type crashLocal struct {
	marker, rev string
	unsure      *string
}

// local writes or deletes a _local document.
func (w *crashWriter) local(ctx context.Context) error {
	id := fmt.Sprintf("_local/%s-%d", w.name, w.random.IntN(crashLocals))
	l := w.locals[id]
	if l == nil {
		l = &crashLocal{}
		w.locals[id] = l
	}
	method, path, marker := "PUT", "/"+crashDB+"/"+id, w.marker()
	if l.marker != "" && w.random.IntN(4) == 0 {
		method, path, marker = "DELETE", path+"?rev="+url.QueryEscape(l.rev), ""
	}
	doc := map[string]any{"marker": marker}
	if l.rev != "" {
		doc["_rev"] = l.rev
	}
	l.unsure = &marker
	status, answer, err := w.send(ctx, method, path, encode(doc))
	if err != nil {
		return err
	}
	revs, err := acknowledged(status, answer)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	l.marker, l.rev, l.unsure = marker, revs[id], nil
	if marker == "" {
		l.rev = ""
	}
	w.acknowledged.Add(1)
	return nil
}

func verifyLocal(t *testing.T, c *client, id string, l *crashLocal) {
	t.Helper()
	r := c.do("GET", "/"+crashDB+"/"+id, "")
	var found struct {
		Rev    string `json:"_rev"`
		Marker string
	}
	if r.Status == http.StatusOK {
		c.decode(r, &found)
	} else if r.Status != http.StatusNotFound {
		t.Errorf("%s: %d %s", id, r.Status, r.Body)
	}
	if found.Marker != l.marker && (l.unsure == nil || found.Marker != *l.unsure) {
		t.Errorf("%s: %q instead of %q", id, found.Marker, l.marker)
	}
	l.marker, l.rev, l.unsure = found.Marker, found.Rev, nil
}

// crashSide is a database of one writer, created, filled and deleted over and over.
type crashSide struct {
	name   string
	exists bool
	docs   map[string]string // id -> marker
	unsure func(exists bool, docs map[string]string) bool
}

// sideStep creates, fills or deletes the writer's own database.
func (w *crashWriter) sideStep(ctx context.Context) error {
	side := &w.side
	switch {
	case !side.exists:
		return w.sideChange(ctx, "PUT", "/"+side.name, nil, true, map[string]string{})
	case w.random.IntN(4) == 0:
		return w.sideChange(ctx, "DELETE", "/"+side.name, nil, false, nil)
	}
	docs, added := map[string]string{}, []any{}
	for id, marker := range side.docs {
		docs[id] = marker
	}
	for range 20 {
		marker := w.marker()
		id := "s" + marker[len(w.name)+1:]
		docs[id] = marker
		added = append(added, map[string]any{"_id": id, "marker": marker})
	}
	return w.sideChange(ctx, "POST", "/"+side.name+"/_bulk_docs", map[string]any{"docs": added}, true, docs)
}

// sideChange makes one request after which the writer's database exists or not, and has the
// documents.
func (w *crashWriter) sideChange(
	ctx context.Context,
	method, path string,
	content any,
	exists bool,
	docs map[string]string,
) error {
	side := &w.side
	side.unsure = func(foundExists bool, found map[string]string) bool {
		for id, marker := range found {
			if docs[id] != marker {
				return false
			}
		}
		for id := range side.docs { // what was there stays, unless the database goes
			if _, ok := found[id]; exists && !ok {
				return false
			}
		}
		return foundExists == exists
	}
	status, answer, err := w.send(ctx, method, path, encode(content))
	if err != nil {
		return err
	}
	if _, err := acknowledged(status, answer); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	side.exists, side.docs, side.unsure = exists, docs, nil
	w.acknowledged.Add(1)
	return nil
}

func (side *crashSide) verify(t *testing.T, c *client) {
	t.Helper()
	r := c.do("GET", "/"+side.name+"/_all_docs?include_docs=true", "")
	exists, found := r.Status == http.StatusOK, map[string]string{}
	var info struct {
		Docs int `json:"doc_count"`
	}
	if exists {
		var list struct {
			Rows []struct {
				ID  string
				Doc struct{ Marker string }
			}
		}
		c.decode(r, &list)
		for _, row := range list.Rows {
			found[row.ID] = row.Doc.Marker
		}
		c.decode(c.want(http.StatusOK, c.do("GET", "/"+side.name, "")), &info)
		if rows := len(c.changes(side.name, "").Results); info.Docs != len(found) || rows != len(found) {
			t.Errorf("%s: count %d, %d documents, %d changes", side.name, info.Docs, len(found), rows)
		}
	}
	known := exists == side.exists && fmt.Sprint(found) == fmt.Sprint(mapOf(side.docs))
	if !known && (side.unsure == nil || !side.unsure(exists, found)) {
		text, _ := json.Marshal(found)
		t.Errorf("%s: exists %t with %s\ninstead of %t with %v", side.name, exists, text, side.exists, side.docs)
	}
	side.exists, side.docs, side.unsure = exists, found, nil
}

func mapOf(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
