package blobs

import (
	"crypto/rand"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// ReleasedLease is how long the bytes of an attachment stay after the last reference has gone: long
// enough for a download that needs several snapshots.
const ReleasedLease = 10 * time.Minute

// Tx is what a transaction on a database does to its blobs. References are collected in it, so that
// each count is written once, by Finish.
type Tx struct {
	KV    kv.Tx
	Keys  keyspace.Space
	UUID  [16]byte // of the database
	Short bool     // the store is full: what is released is not kept
	Now   func() time.Time

	counts map[string]int64 // how the references change
	claims map[string]claimState
}

// Put writes the bytes of a small attachment in the document's own transaction and
// returns its id. The entries that name it are to be counted with Share.
func (t *Tx) Put(all [][]byte) string {
	ref := newID()
	t.PutChunks(ref, 0, all)
	t.count(ref, 0)
	return ref
}

// Claim makes sure that the bytes of an attachment that comes from outside (an upload,
// another document) are there and will stay: it takes the pending marker away, or requires that an
// entry refers to them.
func (t *Tx) Claim(ref string) error {
	if _, ok := t.counts[ref]; ok {
		return nil
	}
	if _, ok := t.claims[ref]; !ok {
		if err := t.LookUp(ref); err != nil {
			return err
		}
	}
	switch state := t.claims[ref]; {
	case state.pending:
		t.KV.Clear(t.Keys.Attachment(nil, keyspace.TagAttPending, ref))
	case !state.counted:
		return ErrExpired
	}
	t.count(ref, 0)
	return nil
}

// claimState is what the store has of a blob that is to be claimed: its pending marker, its
// count of references.
type claimState struct{ pending, counted bool }

// LookUp reads together what Claim is going to ask for.
func (t *Tx) LookUp(refs ...string) error {
	if len(refs) == 0 {
		return nil
	}
	keys := make([][]byte, 0, 2*len(refs))
	for _, ref := range refs {
		keys = append(keys,
			t.Keys.Attachment(nil, keyspace.TagAttPending, ref), t.Keys.Attachment(nil, keyspace.TagAttRefs, ref))
	}
	values, err := t.KV.GetMany(keys)
	if err != nil {
		return err
	}
	if t.claims == nil {
		t.claims = make(map[string]claimState)
	}
	for i, ref := range refs {
		t.claims[ref] = claimState{pending: values[2*i] != nil, counted: values[2*i+1] != nil}
	}
	return nil
}

// Share counts one more entry that names the attachment.
func (t *Tx) Share(ref string) { t.count(ref, 1) }

// Release counts one entry less that names the attachment. The bytes stay for a while;
// see Finish.
func (t *Tx) Release(ref string) { t.count(ref, -1) }

func (t *Tx) count(ref string, n int64) {
	if t.counts == nil {
		t.counts = make(map[string]int64)
	}
	t.counts[ref] += n
}

// Finish writes the counts. The bytes of an attachment without a reference left get a
// lease, as those of an upload: a client that has just read the document in an earlier snapshot can
// still read them; after the lease they are collected.
//
// A reference is added without a read. That is safe against a concurrent removal of the last one:
// whoever adds it has, in the same transaction, read the entry that holds another one, or the
// pending marker, or the count itself (Claim).
func (t *Tx) Finish() error {
	var released []string
	var keys [][]byte
	for _, ref := range slices.Sorted(maps.Keys(t.counts)) {
		key := t.Keys.Attachment(nil, keyspace.TagAttRefs, ref)
		switch delta := t.counts[ref]; {
		case delta < 0:
			released, keys = append(released, ref), append(keys, key)
		case delta > 0:
			keyspace.AddCounter(t.KV, key, delta)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	counts, err := t.KV.GetMany(keys)
	if err != nil {
		return err
	}
	for i, ref := range released {
		if delta := t.counts[ref]; keyspace.Counter(counts[i])+delta > 0 {
			keyspace.AddCounter(t.KV, keys[i], delta)
			continue
		}
		t.KV.Clear(keys[i])
		if t.Short {
			t.dropChunks(ref)
		} else {
			t.setPending(ref, ReleasedLease)
		}
	}
	return nil
}

func (t *Tx) dropChunks(ref string) {
	t.KV.ClearRange(keyspace.Children(t.Keys.Attachment(nil, keyspace.TagAtt, ref)))
}

// newID makes an id that no other blob has: the time, so that uploads of one time lie side by side,
// and chance.
func newID() string {
	var id [16]byte  // formats.BlobIDSize bytes
	rand.Read(id[:]) // never fails
	binary.BigEndian.PutUint64(id[:8], uint64(time.Now().UnixMicro()))
	return string(id[:])
}

// setPending notes that an upload belongs to no document yet, and until when it may stay so.
func (t *Tx) setPending(ref string, lasts time.Duration) {
	lease := binary.AppendVarint(nil, t.Now().Add(lasts).UnixMicro())
	t.KV.Set(t.Keys.Attachment(nil, keyspace.TagAttPending, ref), lease)
}

// PutChunks writes chunks of a blob, the first of which is the first-th. They stay as they are until
// the transaction has ended.
func (t *Tx) PutChunks(ref string, first int64, all [][]byte) {
	prefix := t.Keys.Attachment(nil, keyspace.TagAtt, ref)
	for i, chunk := range all {
		kv.SetOwned(t.KV, tuple.AppendInt(prefix[:len(prefix):len(prefix)], first+int64(i)), chunk)
	}
}
