package eventing

import (
	"context"
	"errors"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// unread is how many rows of the source's feed no process has read for a function that it has begun.
// It is 0 only if every partition was read up to the end of the feed: a process that has just
// started, or one that died, or a pause leaves partitions that nobody reads, and these count from
// where their progress is stored. Each partition has an equal share of the rows after
// its place, and the sum is rounded up. What others have told is two seconds old, so that up to then
// rows may count that they have read since.
func (e *Engine) unread(ctx context.Context, r *registry.Record, parts map[nodes.ID]*tally) (rows int64, err error) {
	shares, uuid, err := e.reached(ctx, r, parts)
	if err != nil || len(shares) == 0 {
		return 0, err
	}
	err = sourceOf(e.docs, r.Running()).ViewAgain(ctx, func(s *storage.Snapshot) error {
		rows = 0
		if uuid != nil && s.UUID() != *uuid {
			return nil // the function stops: it has nothing to read in a database that was made anew
		}
		for at, share := range shares {
			end, err := s.Changes(storage.ChangesOptions{Since: at, Limit: 0}, nil)
			if err != nil {
				return err
			}
			rows += end.Pending * int64(share)
		}
		rows = (rows + partitions - 1) / partitions
		return nil
	})
	if errors.Is(err, compat.KindNoDatabase) {
		return 0, nil
	}
	return rows, err
}

// reached gives up to where the feed was read, with how many partitions each place is that of; none
// for an instance that has not begun. Where this process has all partitions nothing has to be read
// for that.
func (e *Engine) reached(
	ctx context.Context, r *registry.Record, parts map[nodes.ID]*tally,
) (shares map[storage.Seq]int, uuid *[16]byte, err error) {
	shares = make(map[storage.Seq]int)
	if own := parts[e.members.Self()]; own.Mine == allPartitions && len(e.members.Known()) < 2 {
		at, err := keyspace.ParseSeq(own.Read)
		shares[at] = partitions
		return shares, nil, err
	}
	var p progress
	found := false
	err = kv.ViewAgain(ctx, e.o.KV, func(tx kv.ReadTx) error {
		p, found, err = readProgress(tx, spaceOf(r.Instance))
		return err
	})
	if err != nil || !found {
		return nil, nil, err
	}
	for i, owner := range p.owners {
		at := p.of(i)
		if t := parts[owner]; t != nil && t.Mine&(1<<i) != 0 {
			read, err := keyspace.ParseSeq(t.Read)
			if err != nil {
				return nil, nil, corrupt("statistics")
			}
			if at.Before(read) {
				at = read
			}
		}
		shares[at]++
	}
	return shares, &p.source, nil
}

// allPartitions has the bit of each partition.
const allPartitions = 1<<partitions - 1
