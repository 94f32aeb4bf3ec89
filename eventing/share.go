package eventing

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/storage/kv"
)

// The partitions of a deployed function belong to the processes on the store in even shares
// (nodes.Plan). Between two batches each process takes the partitions that the plan gives it and no
// living process has, and gives up those that the plan gives to others. A process that was taken for
// dead and lives finds another owner in its next commit (move, holds).

// errShare ends the work on a share that is to be another one.
var errShare = errors.New("eventing: the partitions of the function are divided anew")

// ids gives the ids of members, in their order.
func ids(members []nodes.Member) []nodes.ID {
	list := make([]nodes.ID, len(members))
	for i := range members {
		list[i] = members[i].ID
	}
	return list
}

// planOf says which process is to own each partition.
func planOf(owners []nodes.ID, members []nodes.Member) []nodes.ID {
	return nodes.Plan(owners, ids(members))
}

// share divides the partitions: this process gives up those that are to be others', and takes those
// that are to be its and are free. What it has then is in the progress. Nothing of the process
// works on any of them meanwhile. Where the progress is lost the instance begins anew. The error is
// registry.ErrChanged if the function is not deployed any more as the process knows it.
func (f *function) share(ctx context.Context, db *documents.Database) (*progress, error) {
	p := new(progress) // not on the stack, which stays small where the function rests
	if err := f.engine.members.Refresh(ctx); err != nil {
		return nil, err
	}
	members, _, err := f.engine.members.Live(ctx)
	if err != nil {
		return nil, err
	}
	fresh := false
	_, err = f.engine.o.KV.Update(ctx, func(tx kv.Tx) error {
		// The record is read in the transaction: nobody takes partitions of what has stopped.
		if err := registry.Stands(tx, f.record); err != nil {
			return err
		}
		s, err := db.Bare().Join(ctx, tx)
		if err != nil {
			return err
		}
		found := false
		if *p, found, err = readProgress(tx, f.space); err != nil {
			return err
		}
		if fresh = !found; fresh {
			*p = progress{source: s.UUID(), owners: p.owners}
			tx.ClearRange(below(f.space.sub(tagPartition)))
			tx.ClearRange(below(f.space.sub(tagDone)))
			tx.Set(f.space.progress(), encodeProgress(p.source, p.begin))
		}
		if p.source != s.UUID() {
			return feed.ErrSourceGone
		}
		gone, err := f.divide(tx, p, members)
		if err == nil {
			f.ends, err = f.noteEnds(tx, gone)
		}
		if err == nil {
			err = freeHeld(tx, f, p, members)
		}
		if err == nil {
			err = startSchedules(f, tx, p.mine(f.engine.members.Self()))
		}
		return err
	})
	if err == nil && fresh {
		f.log.Say("what the function had done was lost: it begins with all documents")
		f.stats.count(progressesLost, 1)
	}
	return p, err
}

// divide moves partitions in a transaction as the plan of the living processes wants it: it gives
// up this process's that are to be others', and takes those that are to be its own and whose owner
// has given them up or has ended. left are the processes that ended without giving theirs up.
func (f *function) divide(tx kv.Tx, p *progress, members []nodes.Member) (left map[nodes.ID]bool, err error) {
	self, live, moved := f.engine.members.Self(), ids(members), false
	left = make(map[nodes.ID]bool)
	for i, id := range planOf(p.owners[:], members) {
		owner := p.owners[i]
		switch {
		case owner == self && id != self:
			p.owners[i] = nodes.ID{}
			tx.Clear(f.space.owner(i))
		case owner != self && id == self && !alive(owner, live):
			gone, err := f.gone(tx, owner)
			if err != nil {
				return nil, err
			}
			if !gone {
				continue // it has just come: the next look sees it
			}
			if owner != (nodes.ID{}) {
				left[owner] = true
			}
			p.owners[i] = self
			tx.Set(f.space.owner(i), self[:])
		default:
			continue
		}
		moved = true
	}
	if moved {
		tx.Atomic(kv.Add, f.space.ownersChanged(), oneMore)
	}
	return left, nil
}

// gone reports whether the process of an owner is known to have ended; no owner counts as gone.
func (f *function) gone(tx kv.ReadTx, owner nodes.ID) (bool, error) {
	if owner == (nodes.ID{}) {
		return true, nil
	}
	return f.engine.members.Gone(tx, owner)
}

// oneMore is what the counter of owners' changes grows by; count is its value.
var oneMore = binary.LittleEndian.AppendUint64(nil, 1)

// count reads the counter of owners' changes; a value that is not there or malformed is 0.
func count(value []byte) uint64 {
	if len(value) != len(oneMore) {
		return 0
	}
	return binary.LittleEndian.Uint64(value)
}

// alive reports whether an owner is one of the living processes; it is false for no owner.
func alive(id nodes.ID, live []nodes.ID) bool { return slices.Contains(live, id) }

// mine gives the partitions that a process owns, in ascending order.
func (p *progress) mine(self nodes.ID) []int {
	var list []int
	for i, id := range p.owners {
		if id == self {
			list = append(list, i)
		}
	}
	return list
}

// keepShare waits until this process is to have other partitions than it has, because processes
// came or went, and returns errShare then.
func (f *function) keepShare(ctx context.Context, mine []int) error {
	self := f.engine.members.Self()
	for {
		members, changed, err := f.engine.members.Live(ctx)
		if err != nil {
			return err
		}
		live := ids(members)
		owners, changes, err := ownersOf(ctx, f.engine.o.KV, f.space)
		if err != nil {
			return err
		}
		for i, id := range planOf(owners, members) {
			owns, free := owners[i] == self, !alive(owners[i], live)
			if owns != slices.Contains(mine, i) || owns && id != self || !owns && free && id == self {
				return errShare
			}
		}
		if err := untilOwners(ctx, f.engine.o.KV, f.space, changes, changed); err != nil {
			return err
		}
		for _, p := range mine { // another process may have replayed dead letters
			f.mail.Set(p, 0)
		}
	}
}

// ownersOf reads which process owns each partition of an instance (the zero ID if none does), and
// the count of changes of that, by which untilOwners sees the next change.
func ownersOf(ctx context.Context, store kv.Store, s space) (owners []nodes.ID, changes []byte, err error) {
	keys := [][]byte{s.ownersChanged()}
	for p := range partitions {
		keys = append(keys, s.owner(p))
	}
	err = kv.ViewAgain(ctx, store, func(tx kv.ReadTx) error {
		values, err := tx.GetMany(keys)
		if err != nil {
			return err
		}
		changes, owners = bytes.Clone(values[0]), make([]nodes.ID, partitions)
		for p, value := range values[1:] {
			copy(owners[p][:], value)
		}
		return nil
	})
	return owners, changes, err
}

// untilOwners waits until an owner changes in the store, or the living processes do, or ctx ends.
func untilOwners(ctx context.Context, store kv.Store, s space, changes []byte, changed <-chan struct{}) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-changed:
			stop()
		case <-watching.Done():
		}
	}()
	if err := store.Watch(watching, s.ownersChanged(), changes); err != nil && watching.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// releaseTime is how long a process that stops takes to give up its partitions at most; whoever
// waits for that goes on after stopTime.
const (
	releaseTime = 5 * time.Second
	stopTime    = graceful + releaseTime
)

// release gives up all partitions that the process has of the function, when nothing works on them
// any more, so that others can take them at once. It is done also after ctx has ended, and in a
// full store.
func (f *function) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(kv.UseReserve(context.WithoutCancel(ctx)), releaseTime)
	defer cancel()
	self := f.engine.members.Self()
	_, err := f.engine.o.KV.Update(ctx, func(tx kv.Tx) error {
		p, _, err := readProgress(tx, f.space)
		if err != nil {
			return err
		}
		if f.ends > 0 {
			tx.ClearRange(below(f.space.sub(tagEnds)))
		}
		mine := p.mine(self)
		for _, i := range mine {
			tx.Clear(f.space.owner(i))
		}
		if len(mine) > 0 {
			tx.Atomic(kv.Add, f.space.ownersChanged(), oneMore)
		}
		return nil
	})
	return err
}

// awaitReleased waits until no process that lives works on an instance, or for stopTime.
func (e *Engine) awaitReleased(ctx context.Context, instance int64) error {
	bounded, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	for {
		members, changed, err := e.members.Live(bounded)
		if err != nil {
			break
		}
		owners, changes, err := ownersOf(bounded, e.o.KV, spaceOf(instance))
		if err != nil {
			return err
		}
		live := ids(members)
		if !slices.ContainsFunc(owners, func(id nodes.ID) bool { return alive(id, live) }) {
			return nil
		}
		if err := untilOwners(bounded, e.o.KV, spaceOf(instance), changes, changed); err != nil {
			if bounded.Err() != nil {
				break
			}
			return err
		}
	}
	return ctx.Err()
}

// freeAll frees all partitions of an instance, in the transaction that stops the function. A
// process that has not given its own up by then cannot commit any more, because each commit checks
// the owner.
func freeAll(tx kv.Tx, instance int64) { tx.ClearRange(below(spaceOf(instance).sub(tagOwner))) }
