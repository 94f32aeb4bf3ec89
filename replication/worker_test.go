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

// TestAttachmentsAreSentAgain: a target that is started anew while it takes a document with attachments does not end
// the replication; one that stays away does.
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
