package expiry

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/storagetest"
)

// modelDoc is what the model knows of a document: what was written last, and when that expires (0:
// never).
type modelDoc struct {
	body    string
	expires int64
}

// model is a store with a clock of its own, and what its databases should have.
type model struct {
	*rapid.T
	t      *testing.T
	engine kv.Store
	store  *storage.Store
	now    int64
	docs   map[string]map[string]modelDoc
}

// TestAgainstModel: whatever is written, deleted, put off, brought forward and made anew, by
// whatever steps the clock goes and however few entries a call may take, the documents that are
// there are those whose last revision has not expired. At the end of all times nothing is stored
// for expiry any more.
func TestAgainstModel(t *testing.T) {
	storagetest.OnEngines(t, func(t *testing.T, engine kv.Store) {
		s, err := storage.Open(t.Context(), storage.Options{KV: engine, Manual: true})
		must(t, err)
		defer func() {
			must(t, s.Close())
			must(t, engine.Close())
		}()
		rapid.Check(t, func(rt *rapid.T) {
			m := &model{T: rt, t: t, engine: engine, store: s, now: 1000, docs: map[string]map[string]modelDoc{}}
			for _, name := range []string{"a", "b"} {
				must(rt, s.Create(t.Context(), name, storage.CreateOptions{}))
				m.docs[name] = map[string]modelDoc{}
				defer func() { must(t, s.Delete(t.Context(), name)) }()
			}
			for n := range rapid.IntRange(1, 30).Draw(rt, "steps") {
				m.step(n)
				m.compare()
			}
			m.now = 10_000
			m.expire(100)
			m.compare()
			found, err := Check(t.Context(), engine, s)
			must(rt, err)
			want(rt, "violations", found, "[]")
			must(rt, kv.ViewAgain(t.Context(), engine, func(tx kv.ReadTx) error {
				list, next, err := read(tx, 1<<60, 1)
				want(rt, "what is still to expire", []any{len(list), next}, "[0 0]")
				return err
			}))
		})
	})
}

func (m *model) step(n int) {
	name := rapid.SampledFrom([]string{"a", "b"}).Draw(m.T, "database")
	id := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(m.T, "document")
	docs, body := m.docs[name], fmt.Sprintf(`{"n":%d}`, n)
	switch rapid.IntRange(0, 9).Draw(m.T, "step") {
	case 0: // the name is another database's now
		must(m, m.store.Delete(m.t.Context(), name))
		must(m, m.store.Create(m.t.Context(), name, storage.CreateOptions{}))
		m.docs[name] = map[string]modelDoc{}
	case 1:
		m.edit(name, id, "", 0)
		delete(docs, id)
	case 2, 3:
		m.edit(name, id, body, 0)
		docs[id] = modelDoc{body: body}
	case 4, 5, 6:
		at := m.now + rapid.Int64Range(-5, 50).Draw(m.T, "expires")
		m.edit(name, id, body, at)
		docs[id] = modelDoc{body, at}
	default:
		m.now += rapid.Int64Range(0, 40).Draw(m.T, "time")
		m.expire(rapid.IntRange(1, 4).Draw(m.T, "limit"))
	}
}

// edit replaces a document whichever revision it has; no body deletes it.
func (m *model) edit(name, id, body string, expires int64) {
	edit := storage.Edit{Doc: storagetest.Doc(m, id, "", body), Over: true}
	edit.Doc.Deleted = body == ""
	must(m, m.store.Commit(m.t.Context(), &storage.Commit{Databases: []storage.DatabaseCommit{{
		DB: m.store.DB(name), Edits: []storage.Edit{edit},
		Stored: func(x *storage.Tx, results []storage.EditResult) error {
			if expires != 0 {
				Set(x, id, results[0].Rev, expires)
			}
			return nil
		},
	}}}))
}

// expire runs Expire until nothing is left that is due.
func (m *model) expire(limit int) {
	for {
		_, next, err := Expire(m.t.Context(), m.engine, m.store, m.now, limit, nil)
		if errors.Is(err, kv.ErrTooOld) { // of the kind of store that fails at random
			continue
		}
		must(m, err)
		if next == 0 || next > m.now {
			break
		}
	}
	for _, docs := range m.docs {
		maps.DeleteFunc(docs, func(_ string, d modelDoc) bool { return d.expires != 0 && d.expires <= m.now })
	}
}

// compare reads all documents.
func (m *model) compare() {
	m.Helper()
	for name, docs := range m.docs {
		for _, id := range []string{"x", "y", "z"} {
			got := ""
			d, err := m.store.DB(name).Open(m.t.Context(), id, docread.OpenOptions{})
			if !errors.Is(err, compat.KindNotFound) {
				must(m, err)
				got = string(d.Body)
			}
			if got != docs[id].body {
				m.Fatalf("at %d %s/%s has %q, wanted %q (expires at %d)",
					m.now, name, id, got, docs[id].body, docs[id].expires)
			}
		}
	}
}
