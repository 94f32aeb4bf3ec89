package eventing

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/answers"
	"github.com/settee-db/settee/storage/expiry"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// slowList is a store that takes its time to tell which functions there are, as a busy one does.
type slowList struct{ kv.Store }

// View implements kv.Store.
func (s slowList) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	return s.Store.View(ctx, func(tx kv.ReadTx) error { return fn(slowListTx{tx}) })
}

type slowListTx struct{ kv.ReadTx }

// Get implements kv.ReadTx.
func (tx slowListTx) Get(key []byte) ([]byte, error) {
	if bytes.Equal(key, registry.ChangesKey()) {
		time.Sleep(300 * time.Millisecond)
	}
	return tx.ReadTx.Get(key)
}

// TestStartKnowsFunctions: what a process does at its start, before it has seen which functions
// there are, is marked as what it does later: a function does not see what it has written itself,
// and sees that a document had expired.
func TestStartKnowsFunctions(t *testing.T) {
	store := memkv.New()
	n := newNode(t, store, 0)
	n.create("src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) { src[meta.id] = {n: (doc.n || 0) + 1}; }
function OnDelete(meta, options) { dst[meta.id] = {expired: options.expired}; }`, "", "+src=src", "+dst=dst")
	n.deploy("f")
	n.put("src", "before", `{}`)
	n.becomes("src", "before", `{"n":1}`)
	n.close()

	s, err := storage.Open(context.Background(), storage.Options{KV: store, Manual: true})
	require.NoError(t, err)
	body, err := compat.NewBody([]byte(`{}`))
	require.NoError(t, err)
	for _, id := range []string{"a", "b"} {
		require.NoError(t, s.Commit(context.Background(), &storage.Commit{Databases: []storage.DatabaseCommit{{
			DB:    s.DB("src"),
			Edits: []storage.Edit{{Doc: &compat.Document{ID: id, HasID: true, Body: body}, Over: true}},
			Stored: func(x *storage.Tx, results []storage.EditResult) error {
				if id == "b" {
					expiry.Set(x, id, results[0].Rev, 1)
				}
				return nil
			},
		}}}))
	}
	require.NoError(t, s.Close())

	n = newNode(t, slowList{store}, 0)
	n.becomes("dst", "b", `{"expired":true}`)
	n.becomes("src", "a", `{"n":1}`)
	n.put("src", "after", `{}`)
	n.becomes("src", "after", `{"n":1}`)
	require.Equal(t, `{"n":1}`, n.get("src", "a"))
}

// TestOldAnswersGo: the job of what expires removes answers that are kept no longer, and no others.
func TestOldAnswersGo(t *testing.T) {
	store := memkv.New()
	old := answers.Request{Key: "old", Now: time.Now().Add(-answers.Life - time.Minute)}
	young := answers.Request{Key: "young", Now: time.Now()}
	for _, q := range []*answers.Request{&old, &young} {
		_, err := store.Update(t.Context(), func(tx kv.Tx) error { return q.Keep(tx, &answers.Answer{Status: 201}) })
		require.NoError(t, err)
	}
	newNode(t, store, 0)
	find := func(q *answers.Request) (found *answers.Answer) {
		require.NoError(t, store.View(t.Context(), func(tx kv.ReadTx) (err error) {
			found, err = q.Find(tx)
			return err
		}))
		return found
	}
	old.Now = old.Now.Add(time.Second) // when it would still be given
	require.NotNil(t, find(&young))
	require.Eventually(t, func() bool { return find(&old) == nil }, time.Minute, time.Millisecond)
	require.NotNil(t, find(&young))
}

// TestOwnWritesElsewhere: a process that runs a function which another one has just deployed, and
// has not seen its record yet, marks what the function writes to its source.
func TestOwnWritesElsewhere(t *testing.T) {
	n := newAlone(t, "src")
	n.define("f", `function OnUpdate(doc, meta) { src[meta.id] = {n: (doc.n || 0) + 1}; }`, "", "+src=src")
	n.deploy("f")
	n.put("src", "a", `{}`)
	n.becomes("src", "a", `{"n":1}`)
	n.engine.mu.Lock()
	n.engine.sources = nil
	n.engine.mu.Unlock()
	n.put("src", "b", `{}`)
	n.becomes("src", "b", `{"n":1}`)
	n.put("src", "c", `{}`) // comes after the event of b that there must not be
	n.becomes("src", "c", `{"n":1}`)
	require.Equal(t, `{"n":1}`, n.get("src", "b"))
}

// TestTimerAtTheBeginning: a timer that is due at the first of all milliseconds is due like others.
func TestTimerAtTheBeginning(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function Fire(context) { dst[context] = {}; }
function OnUpdate(doc, meta) { createTimer(Fire, new Date(doc.at), meta.id, meta.id); }`, "", "+dst=dst")
	n.deploy("f")
	n.put("src", "later", `{"at":1}`)
	n.becomes("dst", "later", `{}`)
	n.put("src", "zero", `{"at":0}`)
	n.becomes("dst", "zero", `{}`)
	n.put("src", "earlier", `{"at":-1}`)
	n.becomes("dst", "earlier", `{}`)
}
