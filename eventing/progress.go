package eventing

import (
	"bytes"
	"context"
	"errors"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// progress is how far an instance has come in the feed of its source, and who works on it.
type progress struct {
	source [16]byte    // uuid of the database
	begin  storage.Seq // where the instance has begun
	// own is up to where the effects of a partition's events are stored; done is up to where its
	// events are done, as it is stored from time to time. What is done is up to the later one of
	// them.
	own, done [partitions]storage.Seq
	owners    [partitions]nodes.ID // the zero ID for nobody
}

// of is the sequence up to which the events of a partition are done.
func (p *progress) of(partition int) storage.Seq {
	at := p.begin
	for _, seq := range []storage.Seq{p.own[partition], p.done[partition]} {
		if at.Before(seq) {
			at = seq
		}
	}
	return at
}

// errRestart ends the work on partitions that another process has now: this one was taken for dead,
// and was not. What is stored is right; it is read again.
var errRestart = errors.New("eventing: a partition of the function is another process's")

// begin writes the progress of a fresh instance: nothing is done, or all that the transaction sees,
// or all from before a time.
func begin(ctx context.Context, tx kv.Tx, instance int64, source *storage.DB, boundary string) error {
	s, err := source.Join(ctx, tx)
	if err != nil {
		return err
	}
	var since storage.Seq
	switch boundary {
	case definition.Everything:
	case definition.FromNow:
		// without a conflict: each write of the source would be one, and what is written later
		// comes later
		if since, err = s.WithoutConflicts().LastSeq(); err != nil {
			return err
		}
	default:
		time, err := compat.ParseSince(boundary)
		if err != nil {
			return err
		}
		first, err := source.Feed().Begin(ctx, time)
		if err != nil {
			return err
		}
		since = first.Seq
	}
	tx.Set(spaceOf(instance).progress(), encodeProgress(s.UUID(), since))
	return nil
}

func encodeProgress(source [16]byte, seq storage.Seq) []byte {
	return keyspace.AppendSeq(append([]byte{1}, source[:]...), seq)
}

// readProgress reads what is stored. found is false if there is nothing: then the instance begins
// anew.
func readProgress(tx kv.ReadTx, s space) (p progress, found bool, err error) {
	keys := [][]byte{s.progress()}
	for i := range partitions {
		keys = append(keys, s.partition(i), s.done(i), s.owner(i))
	}
	values, err := tx.GetMany(keys)
	if err != nil {
		return p, false, err
	}
	for i := range partitions {
		of := values[1+3*i:]
		if err := parsePartition(&p, i, of[0], of[1], of[2]); err != nil {
			return p, false, err
		}
	}
	value := values[0]
	if value == nil {
		return p, false, nil
	}
	if len(value) != 1+len(p.source)+keyspace.SeqSize || value[0] != 1 {
		return p, false, corrupt("progress")
	}
	copy(p.source[:], value[1:])
	p.begin, err = keyspace.ParseSeq(value)
	return p, true, err
}

// parsePartition reads what is stored of one partition; values are nil where there is nothing.
func parsePartition(p *progress, i int, own, done, owner []byte) (err error) {
	if own != nil {
		if p.own[i], err = keyspace.ParseSeq(own); err != nil {
			return err
		}
	}
	if done != nil {
		if p.done[i], err = keyspace.ParseSeq(done); err != nil {
			return err
		}
	}
	if owner != nil && copy(p.owners[i][:], owner) != len(owner) {
		return corrupt("owner")
	}
	return nil
}

// move makes a transaction part of the work on some partitions, and moves them: it fails with
// errRestart if one of them is not this process's any more, or not where it left it. before and
// after are by partition; those that differ move.
func move(tx kv.Tx, s space, self nodes.ID, before, after *[partitions]storage.Seq) error {
	var order []int
	var keys [][]byte
	for p := range after {
		if after[p] != before[p] {
			order, keys = append(order, p), append(keys, s.partition(p), s.owner(p))
		}
	}
	values, err := tx.GetMany(keys)
	if err != nil {
		return err
	}
	for i, p := range order {
		var was []byte
		if seq := before[p]; seq != (storage.Seq{}) {
			was = keyspace.AppendSeq(nil, seq)
		}
		if !bytes.Equal(values[2*i], was) || !bytes.Equal(values[2*i+1], self[:]) {
			return errRestart
		}
		tx.Set(keys[2*i], keyspace.AppendSeq(nil, after[p]))
	}
	return nil
}

// holds fails with errRestart if a partition is not this process's any more.
func holds(tx kv.ReadTx, s space, self nodes.ID, partitions []int) error {
	keys := make([][]byte, len(partitions))
	for i, p := range partitions {
		keys[i] = s.owner(p)
	}
	values, err := tx.GetMany(keys)
	if err != nil {
		return err
	}
	for _, value := range values {
		if !bytes.Equal(value, self[:]) {
			return errRestart
		}
	}
	return nil
}
