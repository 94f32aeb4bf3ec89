package storage

import (
	"bytes"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/blobs"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// slowClient takes so long for each piece that it is given that the snapshot it came from is too
// old for the next one.
type slowClient struct {
	bytes.Buffer
	store  *latencykv.Store
	pieces int
	after  func(piece int) // is called after each, if it is not nil
}

func (c *slowClient) Write(b []byte) (int, error) {
	c.store.Elapse(6 * time.Second)
	c.pieces++
	n, err := c.Buffer.Write(b)
	if c.after != nil {
		c.after(c.pieces)
	}
	return n, err
}

// TestSlowDownloads: a download may take any number of snapshots, and its bytes come once and in
// order. When the document goes meanwhile they stay as long as their lease; then the download ends
// with an error.
func TestSlowDownloads(t *testing.T) {
	slow := latencykv.New(memkv.New(), latencykv.Options{})
	db := openStore(t, slow).DB("db")
	must(t, db.store.Create(t.Context(), "db", CreateOptions{}))
	now := time.Now()
	db.store.now = func() time.Time { return now }
	stored := noise(25 * keyspace.MaxValue)
	plain := noise(30 * keyspace.MaxValue) // half of it is left when it is compressed
	for i := range plain {
		plain[i] &= 15
	}
	att := upload(t, db.Attachments().Uploads(), "stored", stored, nil)
	compressed := func(u *Upload) { u.Type, u.Compress = "text/plain", 8 }
	packed := upload(t, db.Attachments().Uploads(), "packed", plain, compressed)
	rev := putAtts(t, db, "d", "", att, packed)

	for name, c := range map[string]struct {
		att  *compat.Attachment
		o    AttachmentRange
		want []byte
	}{
		"all": {&att, AttachmentRange{To: -1}, stored},
		"range": {&att,
			AttachmentRange{From: keyspace.MaxValue / 2, To: 20*keyspace.MaxValue + 7},
			stored[keyspace.MaxValue/2 : 20*keyspace.MaxValue+7]},
		"decoded": {&packed, AttachmentRange{To: -1, Gunzip: true}, plain},
	} {
		slow.Reset()
		client := &slowClient{store: slow}
		must(t, db.Attachments().Read(t.Context(), c.att, c.o, client))
		if !bytes.Equal(client.Bytes(), c.want) {
			t.Errorf("%s: %d bytes that are not the %d stored", name, client.Len(), len(c.want))
		}
		if aged := slow.Reset().TooOld; aged <= kv.MaxAged {
			t.Errorf("%s: %d snapshots became too old, want more than %d", name, aged, kv.MaxAged)
		}
	}

	client := &slowClient{store: slow, after: func(piece int) {
		switch piece {
		case 3:
			_, err := db.Purge(t.Context(), []IDRevs{{ID: "d", Revs: []compat.Rev{parsedRev(t, rev)}}})
			must(t, err)
		case 15:
			now = now.Add(blobs.ReleasedLease + time.Second)
			_, err := db.store.CollectAttachments(t.Context())
			must(t, err)
		}
	}}
	wantError(t, db.Attachments().Read(t.Context(), &att, AttachmentRange{To: -1}, client), compat.ErrMissing)
	if !bytes.Equal(client.Bytes(), stored[:15*keyspace.MaxValue]) {
		t.Errorf("purged: %d bytes, want the first 15 chunks", client.Len())
	}
}
