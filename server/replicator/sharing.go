package replicator

import (
	"context"
	"errors"
	"strings"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/storage/jobs"
)

// sharing distributes replications among the nodes of a store. A replication of a document belongs
// to the node that the document's id selects, so that one node sees that two documents ask for the
// same; a replication of _replicate runs on the node that was asked. Each running replication is a
// job, so another node begins it only when it has ended here or this node is gone, and one that
// made servers crash again and again is paused.
type sharing struct {
	members *nodes.Members // nil: there is no other node
	jobs    *jobs.Queue
}

var _ replication.Sharing = (*sharing)(nil)

// Mine implements replication.Sharing.
func (s *sharing) Mine(name string) bool {
	return s.members == nil || nodes.Share(name, s.members.Known()) == s.members.Self()
}

// Moved implements replication.Sharing.
func (s *sharing) Moved(ctx context.Context) <-chan struct{} {
	if s.members == nil {
		return nil
	}
	_, changed, _ := s.members.Live(ctx) // fails when ctx ends
	return changed
}

// jobType is the type of the jobs that run replications; the id is the replication's.
const jobType = "replication"

// Run implements replication.Sharing. An outage of the store is no failure of the replication.
func (s *sharing) Run(ctx context.Context, spec *replication.Spec, fn func(context.Context) error) error {
	err := s.jobs.Do(ctx, jobs.Spec{Type: jobType, ID: spec.ID.String(), Data: taskOf(spec)}, fn)
	switch {
	case errors.Is(err, jobs.ErrPaused):
		return replication.ErrPaused
	case errors.Is(err, jobs.ErrLost), errors.Is(err, jobs.ErrClosed):
		return replication.ErrStopped
	}
	return err
}

// Resume implements replication.Sharing.
func (s *sharing) Resume(ctx context.Context, id replication.JobID) error {
	return s.jobs.Resume(ctx, id.String())
}

// maxShown is how many bytes of each text _active_tasks shows of a replication that is paused.
const maxShown = 500

// taskOf is what _active_tasks shows of a replication that is paused.
func taskOf(spec *replication.Spec) []byte {
	b := []byte(`{"type":"replication"`)
	for _, m := range [...]struct{ name, text string }{
		{"replication_id", spec.ID.String()}, {"user", spec.User.Name}, {"database", spec.DB}, {"doc_id", spec.DocID},
		{"source", spec.Source.DisplayURL()}, {"target", spec.Target.DisplayURL()},
	} {
		b = append(ejson.AppendString(append(b, ','), m.name), ':')
		if m.text == "" {
			b = append(b, "null"...)
			continue
		}
		b = ejson.AppendString(b, strings.ToValidUTF8(m.text[:min(len(m.text), maxShown)], ""))
	}
	return append(b, '}')
}

// cancelPaused forgets that a replication of _replicate is paused, so that it can be asked for
// again.
func (s *sharing) cancelPaused(
	ctx context.Context, id replication.JobID, user string, admin bool,
) (found bool, err error) {
	paused, err := s.jobs.PausedOf(ctx, id.String())
	if err != nil || len(paused) == 0 {
		return false, err
	}
	task, err := ejson.Parse(paused[0].Data)
	if err != nil {
		return false, err
	}
	if name, _ := task.Get("user"); !admin && name.Text() != user {
		return true, replication.ErrNotAllowed
	}
	return true, s.Resume(ctx, id)
}

// elsewhere is the node that runs the replication, if it is another one that listens.
func (r *Replications) elsewhere(ctx context.Context, id replication.JobID) (m nodes.Member, is bool, err error) {
	if !r.severalNodes() {
		return m, false, nil
	}
	job, err := r.jobs.Get(ctx, jobType, id.String())
	if errors.Is(err, jobs.ErrNotFound) {
		return m, false, nil
	}
	if err == nil && job.State == jobs.Running {
		for _, other := range r.nodes.Others() {
			if job.RunsOn(other.ID) {
				return other, true, nil
			}
		}
	}
	return m, false, err
}
