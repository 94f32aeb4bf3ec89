package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/expiry"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/pebblekv"
)

// salvageData fills a data directory through small memtables, so that there are tables, blob files
// and a log.
func salvageData(t *testing.T, dir string) {
	t.Helper()
	ctx := context.Background()
	engine := openSmall(t, dir)
	s, err := storage.Open(ctx, storage.Options{KV: engine, Manual: true})
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"a", "gone", "b"} {
		require.NoError(
			t,
			s.Create(
				ctx,
				name,
				storage.CreateOptions{Q: 2, N: 1, Security: []byte(`{"admins":{"names":["` + name + `"]}}`)},
			),
		)
		db := s.DB(name)
		require.NoError(t, db.Settings().SetRevsLimit(ctx, 77))
		for i := range 8 {
			var docs []*compat.Document
			for n := range 20 {
				docs = append(docs, revision(t, db, random, 1, 20*i+n))
				if n%3 == 0 {
					docs = append(docs, revision(t, db, random, 2, 20*i+n))
				}
			}
			results, err := db.Update(ctx, docs, storage.UpdateOptions{Replicated: true})
			require.NoError(t, err)
			for _, r := range results {
				require.Nil(t, r.Err)
			}
		}
		_, err := db.Purge(ctx, []storage.IDRevs{{ID: "doc0007", Revs: []compat.Rev{{Pos: 1, Hash: hash(1, 7)}}}})
		require.NoError(t, err)
		for id, body := range map[string]string{
			"_local/mine":       `{"x":1}`,
			"_local/checkpoint": `{"session_id":"s","history":[],"source_last_seq":"5-g1AAA"}`,
		} {
			parsed, err := compat.NewBody([]byte(body))
			require.NoError(t, err)
			_, err = db.Update(ctx, []*compat.Document{{ID: id, HasID: true, Body: parsed}}, storage.UpdateOptions{})
			require.NoError(t, err)
		}
	}
	require.NoError(t, s.Delete(ctx, "gone"))
	require.NoError(t, s.Close())
	require.NoError(t, engine.Close())
}

func openSmall(t *testing.T, dir string) kv.Store {
	t.Helper()
	engine, err := pebblekv.Open(filepath.Join(dir, storeDir), pebblekv.Options{
		MemTableSize: 256 << 10, MinFreeSpace: 1, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return engine
}

func hash(depth, i int) string { return fmt.Sprintf("%016d", 1000*depth+i) }

// revision makes a revision whose form follows from its number: some are tombstones, conflicts,
// large, or have attachments.
func revision(t *testing.T, db *storage.DB, random *rand.Rand, depth, i int) *compat.Document {
	t.Helper()
	size := 20
	switch i % 10 {
	case 3:
		size = 12 << 10 // a value that is apart in Pebble
	case 4:
		size = 80 << 10 // a body that is apart in settee
	}
	doc := &compat.Document{
		ID: fmt.Sprintf("doc%04d", i), HasID: true, Deleted: i%20 == 9,
		Revs: compat.RevPath{Start: int64(depth), IDs: []string{hash(depth, i)}},
	}
	if depth == 2 && i%2 == 0 {
		doc.Revs.IDs = append(doc.Revs.IDs, hash(1, i))
	}
	var err error
	doc.Body, err = compat.NewBody(fmt.Appendf(nil, `{"n":%d,"text":"%s"}`, i, randomText(random, size)))
	require.NoError(t, err)
	if i%10 == 5 {
		data := []byte(randomText(random, 800*i))
		att, err := db.Attachments().Uploads().Add(
			context.Background(),
			storage.Upload{Name: "f", Type: "text/plain", Length: int64(len(data))},
			bytes.NewReader(data),
		)
		require.NoError(t, err)
		att.RevPos, att.HasRevPos = 1, true
		doc.Attachments = append(doc.Attachments, att)
	}
	return doc
}

func randomText(random *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(random.IntN(26))
	}
	return string(b)
}

// contents gives a line for each leaf of each document, with its attachments' bytes, by its name, and
// what beside reads.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	ctx := context.Background()
	engine := openSmall(t, dir)
	defer func() { require.NoError(t, engine.Close()) }()
	s, err := storage.Open(ctx, storage.Options{KV: engine, Manual: true})
	require.NoError(t, err)
	defer s.Close()
	all := map[string]string{}
	functions, _, err := registry.New(engine, registry.Hooks{}).List(ctx)
	require.NoError(t, err)
	for _, f := range functions {
		all["function/"+f.Draft.Name] = f.Draft.Code
	}
	kept := keyspace.AnswersPrefix()
	require.NoError(t, kv.Walk(ctx, engine, kept, kv.AppendPrefixEnd(nil, kept), 100,
		func(_ kv.ReadTx, window []kv.Row) error {
			for _, row := range window {
				all["answers/"+string(row.Key)] = string(row.Value)
			}
			return nil
		}))
	require.NoError(t, s.AllDBs(ctx, storage.RangeOptions{Limit: -1}, func(name string) error {
		db := s.DB(name)
		security, err := db.Settings().Security(ctx)
		require.NoError(t, err)
		rec, err := db.Settings().Record(ctx)
		require.NoError(t, err)
		infos, err := db.Purges().Remembered(ctx)
		require.NoError(t, err)
		all[name] = fmt.Sprintf("%s %d %v %q %q", security, rec.RevsLimit, infos, rec.AutoPurge, rec.History)
		require.NoError(
			t,
			db.Locals().List(ctx, storage.RangeOptions{Limit: -1, IncludeDocs: true}, func(r *storage.ListRow) error {
				all[name+"/"+r.ID] = r.Rev.String() + string(r.Doc.Body)
				return nil
			}),
		)
		_, err = db.Feed().Changes(ctx, storage.ChangesOptions{Limit: -1}, func(c *storage.Change) error {
			leaves := docread.OpenRevsOptions{All: true, Open: docread.OpenOptions{Revs: true, Deleted: true}}
			require.NoError(t, db.OpenRevs(ctx, c.ID, leaves, func(revs []docread.RevResult) error {
				r := revs[0]
				line := fmt.Sprintf("%v %v %s", r.Doc.Revs, r.Doc.Deleted, r.Doc.Body)
				for i := range r.Doc.Attachments {
					var b strings.Builder
					require.NoError(
						t,
						db.Attachments().Read(ctx, &r.Doc.Attachments[i], storage.AttachmentRange{To: -1}, &b),
					)
					line += r.Doc.Attachments[i].Name + r.Doc.Attachments[i].Type + b.String()
				}
				all[name+"/"+c.ID+"/"+r.Rev.String()] = line
				return nil
			}))
			maps.Copy(all, beside(t, db, c.ID, c.Revs[0], rec.History != ""))
			return nil
		})
		require.NoError(t, err)
		return nil
	}))
	return all
}

// beside gives when a document expires, and the ancestors of its winner whose bodies are kept for a
// time.
func beside(t *testing.T, db *storage.DB, id string, winner compat.Rev, kept bool) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, db.View(t.Context(), func(s *storage.Snapshot) error {
		times, err := expiry.Of(s, []storage.ReadRev{{ID: id, Rev: winner}})
		if err != nil {
			return err
		}
		if times[0] != 0 {
			found[db.Name()+"/"+id+" expires"] = strconv.FormatInt(times[0], 10)
		}
		doc, err := s.Open(id, docread.OpenOptions{Deleted: true, Revs: true})
		if err != nil {
			return err
		}
		for i, hash := range doc.Revs.IDs[1:] {
			rev := compat.Rev{Pos: doc.Revs.Start - 1 - int64(i), Hash: hash}
			old, err := s.Open(id, docread.OpenOptions{Rev: rev, Deleted: true})
			if kept && err == nil {
				found[db.Name()+"/"+id+" was "+rev.String()] = fmt.Sprintf("%v %s %d", old.Deleted, old.Body,
					len(old.Attachments))
			}
		}
		return nil
	}))
	return found
}

func copyDir(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	require.NoError(t, os.CopyFS(to, os.DirFS(from)))
	return to
}

// runSalvage salvages dir and returns the new directory with what was printed.
func runSalvage(t *testing.T, dir string) (target, out string, err error) {
	t.Helper()
	target = filepath.Join(t.TempDir(), "new")
	var b strings.Builder
	s := salvager{source: dir, target: target, out: &b, progress: io.Discard}
	err = s.run(context.Background())
	return target, b.String(), err
}

func TestSalvageOfAWholeStoreLosesNothing(t *testing.T) {
	kvtest.Long(t)
	dir := t.TempDir()
	salvageData(t, dir)
	before := contents(t, dir)
	require.Greater(t, len(before), 300)
	target, out, err := runSalvage(t, dir)
	require.NoError(t, err, out)
	require.Contains(t, out, "no violations")
	require.Equal(t, before, contents(t, dir), "the source is as it was")
	require.Equal(t, withoutCheckpoints(before), contents(t, target))

	// Who goes on from a sequence of before is given everything.
	last := lastSeq(t, dir)
	after := changesSince(t, target, last)
	require.Equal(t, changesSince(t, target, storage.Seq{}), after)
	require.Greater(t, len(after), 100)
	require.Empty(t, changesSince(t, dir, last))
}

// withoutCheckpoints leaves out what a salvage does.
func withoutCheckpoints(all map[string]string) map[string]string {
	all = maps.Clone(all)
	maps.DeleteFunc(all, func(key, value string) bool {
		return strings.Contains(key, "/_local/") && strings.Contains(value, `"session_id"`)
	})
	return all
}

func lastSeq(t *testing.T, dir string) (seq storage.Seq) {
	t.Helper()
	withDB(t, dir, func(db *storage.DB) {
		info, err := db.Info(context.Background())
		require.NoError(t, err)
		seq = info.UpdateSeq.Seq
	})
	return seq
}

func changesSince(t *testing.T, dir string, since storage.Seq) (ids []string) {
	t.Helper()
	withDB(t, dir, func(db *storage.DB) {
		_, err := db.Feed().Changes(
			context.Background(),
			storage.ChangesOptions{Since: since, Limit: -1},
			func(c *storage.Change) error {
				ids = append(ids, c.ID)
				return nil
			},
		)
		require.NoError(t, err)
	})
	return ids
}

func withDB(t *testing.T, dir string, fn func(*storage.DB)) {
	t.Helper()
	engine := openSmall(t, dir)
	defer func() { require.NoError(t, engine.Close()) }()
	s, err := storage.Open(context.Background(), storage.Options{KV: engine, Manual: true})
	require.NoError(t, err)
	defer s.Close()
	fn(s.DB("a"))
}
