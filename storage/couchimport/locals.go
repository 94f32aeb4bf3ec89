package couchimport

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/couchfile"
)

// ownLocals are local documents that CouchDB keeps for itself: how far indexes and copies of shards
// have come with purges and changes.
var ownLocals = [...]string{"_local/purge-", "_local/shard-sync-"}

// locals writes the local documents of a file.
func (w *work) locals(f *shardFile) error {
	return f.Locals(func(l couchfile.Local) error {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		for _, own := range ownLocals {
			if strings.HasPrefix(l.ID, own) {
				w.report.Checkpoints++
				return nil
			}
		}
		body, err := compat.NewBody(l.Body)
		if err != nil {
			return w.damaged(&couchfile.Damage{File: f.Path(), ID: l.ID, Err: err})
		}
		if w.isCheckpointFrom(body.JSON) {
			translated, ok := w.translate(body.JSON)
			if ok {
				body, err = compat.NewBody(translated)
			}
			if !ok || err != nil {
				w.report.Checkpoints++
				return nil //nolint:nilerr // the replication begins anew, as without a checkpoint
			}
		}
		w.report.LocalDocs++
		if w.sink == nil {
			return nil
		}
		n, err := strconv.ParseInt(l.Rev, 10, 64)
		if err != nil {
			n = 1
		}
		refused, err := w.sink.Local(w.ctx, l.ID, n, &body)
		if refused != nil {
			return w.damaged(&couchfile.Damage{File: f.Path(), ID: l.ID,
				Err: fmt.Errorf("the local document was refused: %w", refused)})
		}
		return err
	}, w.damaged)
}

// isCheckpointFrom reports whether a local document is the checkpoint of a replication from this
// database: its sequences mean nothing in the new one, and a replication that believed them would
// leave documents out. One of a replication to this database stays as it is: its sequences are of
// the source. Plain numbers are PouchDB's, which has them of its own databases, and CouchDB 1.x's;
// of a database of 1.x they may be its own, and are taken for that.
func (w *work) isCheckpointFrom(body []byte) bool {
	v, err := ejson.Parse(body)
	if err != nil {
		return false
	}
	_, session := v.Get("session_id")
	history, ok := v.Get("history")
	if !session && !ok {
		return false
	}
	seqs := []ejson.Value{v}
	if ok && history.Kind() == ejson.Array {
		for entry := range history.Elements() {
			if entry.Kind() == ejson.Object {
				seqs = append(seqs, entry)
			}
		}
	}
	for _, object := range seqs {
		for _, name := range [...]string{"source_last_seq", "last_seq", "recorded_seq", "end_last_seq"} {
			if seq, ok := object.Get(name); ok && w.isOwn(seq) {
				return true
			}
		}
	}
	return false
}

// isOwn reports whether a sequence is one of this database, or may be.
func (w *work) isOwn(seq ejson.Value) bool {
	if _, isNumber := seq.Int(); isNumber {
		return !w.d.Clustered
	}
	if seq.Kind() != ejson.String {
		return false
	}
	shards, ok := couchfile.ParseSeq(seq.Text())
	if !ok {
		_, err := strconv.ParseInt(seq.Text(), 10, 64)
		return err == nil && !w.d.Clustered
	}
	for _, s := range shards {
		for uuid := range w.uuids {
			if s.UUID != "" && strings.HasPrefix(uuid, s.UUID) {
				return true
			}
		}
	}
	return false
}
