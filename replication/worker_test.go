package replication

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// restarting is a target that takes half of an attachment and is gone, so many times.
type restarting struct {
	*memoryPeer
	times int
}

func (r *restarting) Put(ctx context.Context, d *Document) error {
	if r.times > 0 {
		r.times--
		if err := d.Attachments[0].Copy(ctx, io.Discard); err != nil {
			return err
		}
		return &httpFailure{method: "PUT", url: "http://b.invalid/t/d1", cause: "connection_closed"}
	}
	return r.memoryPeer.Put(ctx, d)
}

// TestAttachmentsAreSentAgain: a target that is started anew while it takes a document with
// attachments does not end the replication; one that stays away does.
func TestAttachmentsAreSentAgain(t *testing.T) {
	for _, c := range []struct {
		name    string
		times   int
		written int64
		took    time.Duration
	}{
		{"it comes back", 3, 1, 1750 * time.Millisecond},
		{"it stays away", 100, 0, 7750 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set := DefaultSettings()
				source, target := newMemoryPeer("s", 1), &restarting{newMemoryPeer("t", 2), c.times}
				source.write(1, "bytes")
				began := time.Now()
				session := NewSession(testSpec(t, &set, ""), &set, source, target, "", Stats{}, quietly)
				_, err := session.Do(t.Context())
				require.Equal(t, c.took, time.Since(began))
				if c.written == 0 {
					require.ErrorContains(t, err, "http_request_failed")
					return
				}
				require.NoError(t, err)
				require.Equal(t, source.atts, target.atts)
				require.Equal(t, c.written, session.counters.written.Load())
				require.Equal(t, c.written, session.counters.read.Load())
			})
		})
	}
}

// manyAtOnce is a target that notes how many documents it gets together.
type manyAtOnce struct {
	Peer
	most, all int
}

func (m *manyAtOnce) BulkWrite(_ context.Context, docs [][]byte) ([]Refusal, error) {
	m.most, m.all = max(m.most, len(docs)), m.all+len(docs)
	return nil, nil
}

// TestTinyDocumentsWithoutEnd: a source that sends tiny documents without end has them written by
// the memory that they take, not by their bytes, of which thirteen thousand would fit.
func TestTinyDocumentsWithoutEnd(t *testing.T) {
	target := &manyAtOnce{}
	w := newWorker(&Session{target: target})
	const count, room = 20_000, 512
	for range count {
		if err := w.add(t.Context(), append(make([]byte, 0, room), `{"_id":"doc0","_rev":"1-a"}`...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if most := maxBulk/(room+documentOverhead) + 1; target.most > most || target.all != count {
		t.Errorf("%d of %d documents at once, wanted at most %d of %d", target.most, target.all, most, count)
	}
}
