package search

import (
	"fmt"
	"strings"
	"testing"

	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/jobs/jobstest"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestPausedMerge: merges of an index are paused after one ran at three ends of the server. The
// index grows on in segments, says so, and is merged again when it is resumed, though a merge that
// died has left a claim.
func TestPausedMerge(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	b.put(t, "_design/d", design)
	def := b.lookup(t, segment.Clouseau, "c")
	want(t, "documents", b.ask(t, def, "word")[:1], "0")
	var k *keys
	var number int64
	var recordKey []byte
	must(t, b.db.View(t.Context(), func(s *storage.Snapshot) error {
		rec, _, err := readRecord(s.KV(), spaceOf(s), def.signature)
		number = rec.number
		k, recordKey = spaceOf(s).keysOf(number), spaceOf(s).record(def.signature)
		return err
	}))
	segments := func() (n int) {
		b.indexes.running.Wait()
		must(t, b.db.View(t.Context(), func(s *storage.Snapshot) error {
			value, err := s.KV().Get(k.key(keyManifest))
			must(t, err)
			m, err := parseManifest(value)
			n = len(m.segments)
			return err
		}))
		return n
	}
	docs := 0
	grow := func(flushes int) {
		for range flushes {
			for range fewEntries + 1 {
				b.put(t, fmt.Sprint("doc", docs), `{"index":[["default","word",{}]]}`)
				docs++
			}
			found := fmt.Sprint(docs)
			want(t, "documents", b.ask(t, def, "word")[:len(found)], found)
		}
	}
	reason := func() string {
		info, err := b.indexes.Info(t.Context(), b.db, def)
		must(t, err)
		return info.MergesPaused
	}
	jobstest.EndsWhile(t, b.engine, keyspace.JobsPrefix(), mergeJob, true,
		jobs.Spec{Type: mergeJob, ID: mergeID("db", number)})
	var err error
	b.jobs, err = jobs.Open(t.Context(), jobs.Options{KV: b.engine, Prefix: keyspace.JobsPrefix(), Exclusive: true})
	must(t, err)
	b.restart()
	must(t, b.indexes.Start())
	want(t, "why merges are paused", reason(), "")
	const flushes = fanOut + 2
	grow(flushes)
	want(t, "segments", segments(), flushes)
	want(t, "why merges are paused", reason(), jobs.ErrPaused.Error())
	paused, err := b.jobs.PausedOf(t.Context(), "db")
	must(t, err)
	if len(paused) != 1 || !strings.Contains(string(paused[0].Data), `"design_document":"_design/d","index":"c"`) {
		t.Errorf("paused are %+v", paused)
	}
	_, err = b.indexes.take(t.Context(), b.db, recordKey, k, claimMerge)
	must(t, err)
	must(t, b.jobs.Resume(t.Context(), "db"))
	grow(1)
	if n := segments(); n >= fanOut {
		t.Errorf("there are %d segments", n)
	}
	want(t, "why merges are paused", reason(), "")
	b.checkStored(t)
	must(t, b.jobs.Close())
}
