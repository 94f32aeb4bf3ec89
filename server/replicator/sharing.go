package replicator

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/storage/kv"
)

// sharing divides replications among the nodes on a store. Those of documents fall to nodes by their ids, so that one
// node sees that two documents ask for the same; those of _replicate run where they were asked for. What runs has a
// claim, so that what falls to another node begins there when it has ended here, or when this node is gone.
type sharing struct {
	members *nodes.Members
	claims  *nodes.Claims
	log     *slog.Logger
}

var _ replication.Sharing = (*sharing)(nil)

// Mine implements replication.Sharing.
func (s *sharing) Mine(name string) bool {
	return nodes.Share(name, s.members.Known()) == s.members.Self()
}

// Moved implements replication.Sharing.
func (s *sharing) Moved(ctx context.Context) <-chan struct{} {
	_, changed, _ := s.members.Live(ctx) // fails when ctx ends
	return changed
}

// claimPrefix is what the names of replications begin with among the claims.
const claimPrefix = "replication "

// giveTime bounds how long a claim is tried to be given back. One that stays is this process's until it ends.
const giveTime = 5 * time.Second

// awayPause is how long a claim waits that the store did not answer.
const awayPause = time.Second

// Claim implements replication.Sharing. An outage of the store is no failure of the replication.
func (s *sharing) Claim(ctx context.Context, id replication.JobID) (release func(), err error) {
	name := claimPrefix + id.String()
	for err := s.claims.Take(ctx, name); err != nil; err = s.claims.Take(ctx, name) {
		if !errors.Is(err, kv.ErrUnavailable) {
			return nil, err
		}
		select {
		case <-time.After(awayPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveTime)
		defer cancel()
		if err := s.claims.Give(ctx, name); err != nil {
			s.log.Warn("a replication's claim could not be given back", "replication", id, "error", err)
		}
	}, nil
}

// elsewhere is the node that runs the replication, if it is another one that listens.
func (r *Replications) elsewhere(ctx context.Context, id replication.JobID) (m nodes.Member, is bool, err error) {
	if r.shared == nil {
		return m, false, nil
	}
	holder, held, err := r.shared.claims.Holder(ctx, claimPrefix+id.String())
	if err != nil || !held {
		return m, false, err
	}
	m, is = r.nodes.Other(holder)
	return m, is, nil
}
