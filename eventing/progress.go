package eventing

import (
	"bytes"
	"context"
	"errors"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// progress is how far an instance has come in the feed of its source.
type progress struct {
	source [16]byte    // uuid of the database
	all    storage.Seq // everything up to it is done
	// own are the sequences that the partitions have stored; those at or before all are of no interest any more.
	own [partitions]storage.Seq
}

// of is the sequence up to which the events of a partition are done.
func (p *progress) of(partition int) storage.Seq {
	if p.all.Before(p.own[partition]) {
		return p.own[partition]
	}
	return p.all
}

// errRestart ends the run of a function whose progress was moved by somebody else: a process that was taken for dead,
// and was not. What is stored is right; it is read again.
var errRestart = errors.New("eventing: the progress of the function was moved elsewhere")

// begin writes the progress of a fresh instance: nothing is done, or with fromNow all that the transaction sees.
func begin(ctx context.Context, tx kv.Tx, instance int64, source *storage.DB, fromNow bool) error {
	s, err := source.Join(ctx, tx)
	if err != nil {
		return err
	}
	var since storage.Seq
	if fromNow {
		// without a conflict: each write of the source would be one, and what is written later comes later
		if since, err = s.WithoutConflicts().LastSeq(); err != nil {
			return err
		}
	}
	tx.Set(spaceOf(instance).progress(), encodeProgress(s.UUID(), since))
	return nil
}

func encodeProgress(source [16]byte, seq storage.Seq) []byte {
	return storage.AppendSeq(append([]byte{1}, source[:]...), seq)
}

// readProgress reads what is stored. found is false if there is nothing: then the instance begins anew.
func readProgress(tx kv.ReadTx, s space) (p progress, found bool, err error) {
	value, err := tx.Get(s.progress())
	if err != nil || value == nil {
		return p, false, err
	}
	if len(value) != 1+len(p.source)+storage.SeqSize || value[0] != 1 {
		return p, false, corrupt("progress")
	}
	copy(p.source[:], value[1:])
	if p.all, err = storage.ParseSeq(value); err != nil {
		return p, false, err
	}
	keys := make([][]byte, partitions)
	for i := range keys {
		keys[i] = s.partition(i)
	}
	values, err := tx.GetMany(keys)
	if err != nil {
		return p, false, err
	}
	for i, v := range values {
		if v == nil {
			continue
		}
		if p.own[i], err = storage.ParseSeq(v); err != nil {
			return p, false, err
		}
	}
	return p, true, nil
}

// move makes a transaction part of the work on some partitions: it fails with errRestart if one of them is not where
// this process left it, and moves them. before and after are by partition.
func move(tx kv.Tx, s space, before, after map[int]storage.Seq) error {
	order := make([]int, 0, len(after))
	keys := make([][]byte, 0, len(after))
	for p := range after {
		order, keys = append(order, p), append(keys, s.partition(p))
	}
	values, err := tx.GetMany(keys)
	if err != nil {
		return err
	}
	for i, p := range order {
		var was []byte
		if seq := before[p]; seq != (storage.Seq{}) {
			was = storage.AppendSeq(nil, seq)
		}
		if !bytes.Equal(values[i], was) {
			return errRestart
		}
		tx.Set(keys[i], storage.AppendSeq(nil, after[p]))
	}
	return nil
}
