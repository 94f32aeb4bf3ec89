package conformance

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	crashDocs   = 120 // of each writer
	crashLocals = 10  // likewise
)

// crashWriter writes documents that nobody else touches and remembers what was acknowledged.
type crashWriter struct {
	name         string
	base         string
	random       *rand.Rand
	http         *http.Client
	docs         map[string]*crashDoc
	locals       map[string]*crashLocal
	side         crashSide
	writes       int // numbers the markers
	acknowledged atomic.Int64
	failure      error // a write that was refused, or an answer that makes no sense
}

func newCrashWriter(number int, base string, random *rand.Rand) *crashWriter {
	name := fmt.Sprintf("w%d", number)
	return &crashWriter{name: name, base: base, random: random, docs: map[string]*crashDoc{},
		locals: map[string]*crashLocal{}, side: crashSide{name: crashDB + "-" + name},
		http: &http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}}
}

var errNotAnswered = errors.New("no answer")

// run writes until ctx ends or the server is gone.
func (w *crashWriter) run(ctx context.Context) {
	defer w.http.CloseIdleConnections()
	for ctx.Err() == nil {
		if err := w.step(ctx); err != nil {
			if !errors.Is(err, errNotAnswered) {
				w.failure = err
			}
			return
		}
	}
}

func (w *crashWriter) step(ctx context.Context) error {
	switch n := w.random.IntN(100); {
	case n < 35:
		return w.edit(ctx)
	case n < 50:
		return w.bulk(ctx)
	case n < 58:
		return w.attach(ctx)
	case n < 70:
		return w.replicate(ctx)
	case n < 80:
		return w.purge(ctx)
	case n < 90:
		return w.local(ctx)
	case n < 99:
		return w.sideStep(ctx)
	}
	_, _, err := w.send(ctx, "POST", "/"+crashDB+"/_compact", []byte("{}"))
	return err
}

// anyDoc picks a document. Only those with the kind "p" are ever purged.
func (w *crashWriter) anyDoc(kind string) (id string, d *crashDoc) {
	id = fmt.Sprintf("%s-%s%03d", w.name, kind, w.random.IntN(crashDocs))
	d = w.docs[id]
	if d == nil {
		d = &crashDoc{}
		w.docs[id] = d
	}
	return id, d
}

func (w *crashWriter) anyKind() string { return []string{"d", "d", "p"}[w.random.IntN(3)] }

func (w *crashWriter) marker() string {
	w.writes++
	return fmt.Sprintf("%s/%d", w.name, w.writes)
}

// anyLeaf picks a leaf to edit: a live one, or what a new document's revision continues.
func (w *crashWriter) anyLeaf(d *crashDoc) (rev string, leaf crashLeaf) {
	var live []string
	for rev, leaf := range d.leaves {
		if !leaf.Deleted {
			live = append(live, rev)
		}
	}
	if len(live) == 0 {
		rev = d.winner()
		return rev, d.leaves[rev]
	}
	slices.Sort(live)
	rev = live[w.random.IntN(len(live))]
	return rev, d.leaves[rev]
}

// next makes the document's next state and the JSON that asks for it: now and then its deletion,
// with attachments kept, dropped and added.
func (w *crashWriter) next(id string, d *crashDoc) (*crashChange, map[string]any) {
	rev, old := w.anyLeaf(d)
	ch := &crashChange{replaces: rev, leaf: crashLeaf{Marker: w.marker(), Atts: map[string]string{}}}
	doc := map[string]any{"_id": id, "marker": ch.leaf.Marker, "payload": strings.Repeat("x", w.random.IntN(2000))}
	if rev != "" && !old.Deleted {
		doc["_rev"] = rev
		if w.random.IntN(5) == 0 {
			doc["_deleted"], ch.leaf.Deleted = true, true
			return ch, doc
		}
	}
	atts := map[string]any{}
	for name, tag := range old.Atts {
		if !old.Deleted && w.random.IntN(4) > 0 {
			ch.leaf.Atts[name], atts[name] = tag, map[string]any{"stub": true}
		}
	}
	if w.random.IntN(5) == 0 {
		size := w.random.IntN(3000)
		if w.random.IntN(10) == 0 {
			size += 150_000
		}
		name := fmt.Sprintf("a%d", w.random.IntN(3))
		data := content(ch.leaf.Marker, size)
		ch.leaf.Atts[name] = contentTag(data)
		atts[name] = map[string]any{
			"content_type": "application/octet-stream",
			"data":         base64.StdEncoding.EncodeToString(data),
		}
	}
	if len(atts) > 0 {
		doc["_attachments"] = atts
	}
	return ch, doc
}

func (w *crashWriter) edit(ctx context.Context) error {
	id, d := w.anyDoc(w.anyKind())
	ch, doc := w.next(id, d)
	return w.write(ctx, "PUT", "/"+crashDB+"/"+id, doc, map[string]*crashChange{id: ch})
}

func (w *crashWriter) bulk(ctx context.Context) error {
	changes := map[string]*crashChange{}
	var docs []any
	for range 1 + w.random.IntN(20) {
		id, d := w.anyDoc(w.anyKind())
		if changes[id] == nil {
			ch, doc := w.next(id, d)
			changes[id], docs = ch, append(docs, doc)
		}
	}
	return w.write(ctx, "POST", "/"+crashDB+"/_bulk_docs", map[string]any{"docs": docs}, changes)
}

// attach streams an attachment, often one of several chunks.
func (w *crashWriter) attach(ctx context.Context) error {
	id, d := w.anyDoc(w.anyKind())
	rev, old := w.anyLeaf(d)
	ch := &crashChange{replaces: rev, leaf: crashLeaf{Atts: map[string]string{}}}
	path := "/" + crashDB + "/" + id + "/streamed"
	if rev != "" && !old.Deleted {
		path += "?rev=" + rev
		ch.leaf.Marker = old.Marker
		for name, tag := range old.Atts {
			ch.leaf.Atts[name] = tag
		}
	}
	data := content(w.marker(), w.random.IntN(400_000))
	ch.leaf.Atts["streamed"] = contentTag(data)
	return w.write(ctx, "PUT", path, data, map[string]*crashChange{id: ch})
}

// replicate adds leaves with revisions made elsewhere: conflicts, and continuations over a gap.
func (w *crashWriter) replicate(ctx context.Context) error {
	changes := map[string]*crashChange{}
	var docs []any
	for range 1 + w.random.IntN(5) {
		id, d := w.anyDoc(w.anyKind())
		if changes[id] != nil {
			continue
		}
		ch := &crashChange{leaf: crashLeaf{Marker: w.marker(), Deleted: w.random.IntN(4) == 0}}
		line := []string{fmt.Sprintf("%016x%016x", w.random.Uint64(), w.random.Uint64())}
		start := 1 + w.random.IntN(3)
		if rev := d.winner(); rev != "" && (w.random.IntN(3) > 0 || len(d.leaves) > 4) {
			_, hash, _ := strings.Cut(rev, "-")
			ch.replaces, start, line = rev, generation(rev)+1, append(line, hash)
		}
		ch.rev = fmt.Sprintf("%d-%s", start, line[0])
		changes[id] = ch
		docs = append(
			docs,
			map[string]any{"_id": id, "_rev": ch.rev, "marker": ch.leaf.Marker, "_deleted": ch.leaf.Deleted,
				"_revisions": map[string]any{"start": start, "ids": line}},
		)
	}
	return w.write(ctx, "POST", "/"+crashDB+"/_bulk_docs", map[string]any{"docs": docs, "new_edits": false}, changes)
}

func (w *crashWriter) purge(ctx context.Context) error {
	id, d := w.anyDoc("p")
	rev := d.winner()
	if rev == "" {
		return nil
	}
	ch := &crashChange{replaces: rev, purge: true}
	return w.write(
		ctx,
		"POST",
		"/"+crashDB+"/_purge",
		map[string]any{id: []string{rev}},
		map[string]*crashChange{id: ch},
	)
}

// write makes one request that changes documents. They are unsure until the answer is there.
func (w *crashWriter) write(
	ctx context.Context,
	method, path string,
	content any,
	changes map[string]*crashChange,
) error {
	for id, ch := range changes {
		w.docs[id].unsure, w.docs[id].touched = ch, true
	}
	status, answer, err := w.send(ctx, method, path, encode(content))
	if err != nil {
		return err
	}
	revs, err := acknowledged(status, answer)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	for id, ch := range changes {
		rev := ch.rev
		if rev == "" && !ch.purge {
			if rev = revs[id]; rev == "" {
				return fmt.Errorf("%s %s: no revision of %s in %s", method, path, id, answer)
			}
		}
		w.docs[id].apply(ch, rev)
		w.acknowledged.Add(1)
	}
	return nil
}

// encode makes a request body: bytes as they are, all else as JSON.
func encode(content any) []byte {
	if raw, ok := content.([]byte); ok {
		return raw
	}
	text, err := json.Marshal(content)
	if err != nil {
		panic(err) // maps of strings
	}
	return text
}

// send makes one request. The error is errNotAnswered where the server may have died under it.
func (w *crashWriter) send(
	ctx context.Context,
	method, path string,
	body []byte,
) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, w.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if strings.Contains(path, "/streamed") {
		req.Header.Set("Content-Type", "application/octet-stream")
	}
	req.SetBasicAuth(AdminName, AdminPassword)
	resp, err := w.http.Do(req)
	if err != nil {
		return 0, nil, errNotAnswered
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		return 0, nil, errNotAnswered
	}
	return resp.StatusCode, answer, nil
}

// acknowledged returns the revisions that an answer promises, by id.
func acknowledged(status int, answer []byte) (map[string]string, error) {
	type saved struct{ ID, Rev, Error string }
	var all []saved
	var err error
	if bytes.HasPrefix(answer, []byte("[")) {
		err = json.Unmarshal(answer, &all)
	} else {
		all = make([]saved, 1)
		err = json.Unmarshal(answer, &all[0])
	}
	if err != nil {
		return nil, fmt.Errorf("%w in %q", err, answer)
	}
	revs := map[string]string{}
	for _, s := range all {
		if status/100 != 2 || s.Error != "" {
			return nil, fmt.Errorf("refused: %d %s", status, answer)
		}
		revs[s.ID] = s.Rev
	}
	return revs, nil
}
