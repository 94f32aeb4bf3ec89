package storage

import (
	"github.com/settee-db/settee/storage/keyspace"
	"maps"
	"slices"
	"time"
)

// releasedLease is how long the bytes of an attachment stay after the last reference has gone: long
// enough for a download that needs several snapshots.
const releasedLease = 10 * time.Minute

// attachmentRefs collects how the references of attachments change in a transaction, so that each
// count is written once.
type attachmentRefs map[string]int64

// putAttachment writes the bytes of a small attachment in the document's own transaction and
// returns its id. The entries that name it are to be counted with shareAttachment.
func (t *dbTx) putAttachment(all [][]byte) string {
	ref := newAttachmentID()
	t.putAttachmentChunks(ref, 0, all)
	t.countAttachment(ref, 0)
	return ref
}

// claimAttachment makes sure that the bytes of an attachment that comes from outside (an upload,
// another document) are there and will stay: it takes the pending marker away, or requires that an
// entry refers to them.
func (t *dbTx) claimAttachment(ref string) error {
	if _, ok := t.atts[ref]; ok {
		return nil
	}
	if _, ok := t.claims[ref]; !ok {
		if err := t.lookUpClaims(ref); err != nil {
			return err
		}
	}
	switch state := t.claims[ref]; {
	case state.pending:
		t.tx.Clear(t.Keys.Attachment(nil, keyspace.TagAttPending, ref))
	case !state.counted:
		return errUploadExpired
	}
	t.countAttachment(ref, 0)
	return nil
}

// claimState is what the store has of an attachment that is to be claimed: its pending marker, its
// count of references.
type claimState struct{ pending, counted bool }

// lookUpClaims reads together what claimAttachment is going to ask for.
func (t *dbTx) lookUpClaims(refs ...string) error {
	if len(refs) == 0 {
		return nil
	}
	keys := make([][]byte, 0, 2*len(refs))
	for _, ref := range refs {
		keys = append(keys,
			t.Keys.Attachment(nil, keyspace.TagAttPending, ref), t.Keys.Attachment(nil, keyspace.TagAttRefs, ref))
	}
	values, err := t.tx.GetMany(keys)
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

// shareAttachment counts one more entry that names the attachment.
func (t *dbTx) shareAttachment(ref string) { t.countAttachment(ref, 1) }

// releaseAttachment counts one entry less that names the attachment. The bytes stay for a while;
// see finishAttachments.
func (t *dbTx) releaseAttachment(ref string) { t.countAttachment(ref, -1) }

func (t *dbTx) countAttachment(ref string, n int64) {
	if t.atts == nil {
		t.atts = make(attachmentRefs)
	}
	t.atts[ref] += n
}

// finishAttachments writes the counts. The bytes of an attachment without a reference left get a
// lease, as those of an upload: a client that has just read the document in an earlier snapshot can
// still read them; after the lease they are collected.
//
// A reference is added without a read. That is safe against a concurrent removal of the last one:
// whoever adds it has, in the same transaction, read the entry that holds another one, or the
// pending marker, or the count itself (claimAttachment).
func (t *dbTx) finishAttachments() error {
	var released []string
	var keys [][]byte
	for _, ref := range slices.Sorted(maps.Keys(t.atts)) {
		key := t.Keys.Attachment(nil, keyspace.TagAttRefs, ref)
		switch delta := t.atts[ref]; {
		case delta < 0:
			released, keys = append(released, ref), append(keys, key)
		case delta > 0:
			keyspace.AddCounter(t.tx, key, delta)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	counts, err := t.tx.GetMany(keys)
	if err != nil {
		return err
	}
	for i, ref := range released {
		if delta := t.atts[ref]; keyspace.Counter(counts[i])+delta > 0 {
			keyspace.AddCounter(t.tx, keys[i], delta)
			continue
		}
		t.tx.Clear(keys[i])
		if t.short {
			t.dropChunks(ref)
		} else {
			t.setPending(ref, releasedLease)
		}
	}
	return nil
}

func (t *dbTx) dropChunks(ref string) {
	t.tx.ClearRange(keyspace.Children(t.Keys.Attachment(nil, keyspace.TagAtt, ref)))
}
