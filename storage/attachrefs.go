package storage

import (
	"maps"
	"slices"
	"time"
)

// releasedLease is how long the bytes of an attachment stay after the last reference has gone: long enough for a download that
// needs several snapshots.
const releasedLease = 10 * time.Minute

// attachmentRefs collects how the references of attachments change in a transaction, so that each count is written once.
type attachmentRefs map[string]int64

// putAttachment writes the bytes of a small attachment in the document's own transaction and returns its id. The entries that
// name it are to be counted with shareAttachment.
func (t *dbTx) putAttachment(data []byte) string {
	ref := newAttachmentID()
	t.putAttachmentChunks(ref, 0, data)
	t.countAttachment(ref, 0)
	return ref
}

// claimAttachment makes sure that the bytes of an attachment that comes from outside (an upload, another document) are there
// and will stay: it takes the pending marker away, or requires that an entry refers to them.
func (t *dbTx) claimAttachment(ref string) error {
	if _, ok := t.atts[ref]; ok {
		return nil
	}
	pending := t.keys.attachment(nil, TagAttPending, ref)
	values, err := t.tx.GetMany([][]byte{pending, t.keys.attachment(nil, TagAttRefs, ref)})
	if err != nil {
		return err
	}
	switch {
	case values[0] != nil:
		t.tx.Clear(pending)
	case values[1] == nil:
		return errUploadExpired
	}
	t.countAttachment(ref, 0)
	return nil
}

// shareAttachment counts one more entry that names the attachment.
func (t *dbTx) shareAttachment(ref string) { t.countAttachment(ref, 1) }

// releaseAttachment counts one entry less that names the attachment.
func (t *dbTx) releaseAttachment(ref string) { t.countAttachment(ref, -1) }

func (t *dbTx) countAttachment(ref string, n int64) {
	if t.atts == nil {
		t.atts = make(attachmentRefs)
	}
	t.atts[ref] += n
}

// finishAttachments writes the counts. The bytes of an attachment without a reference left get a lease, as those of an upload: who
// has just read its document in an earlier snapshot can still read them; then they are collected.
//
// A reference is added without a read. That is safe against a concurrent removal of the last one: whoever adds it has, in the
// same transaction, read the entry that holds another one, or the pending marker, or the count itself (claimAttachment).
func (t *dbTx) finishAttachments() error {
	for _, ref := range slices.Sorted(maps.Keys(t.atts)) {
		delta := t.atts[ref]
		key := t.keys.attachment(nil, TagAttRefs, ref)
		if delta < 0 {
			value, err := t.tx.Get(key)
			if err != nil {
				return err
			}
			if counter(value)+delta <= 0 {
				t.tx.Clear(key)
				t.setPending(ref, releasedLease)
				continue
			}
		}
		if delta != 0 {
			addCounter(t.tx, key, delta)
		}
	}
	return nil
}

func (t *dbTx) dropChunks(ref string) {
	t.tx.ClearRange(children(t.keys.attachment(nil, TagAtt, ref)))
}
