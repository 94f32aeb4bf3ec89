package views

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/views/progress"
)

// Large builds are jobs of the store: they go on after a restart, and of several processes one does
// the work.

const (
	jobType = "view"
	// jobWorkers is how many design documents are built at a time, each with several batches on
	// their way, and how many pieces.
	jobWorkers = 2
	// jobAttempts is how often a build that fails for no fault of a client's is tried.
	jobAttempts = 4
	// smallUpdate is the number of changes up to which a build does without a job.
	smallUpdate = 500
)

// jobSpec names the build of a design document. Format of the data: texts of database, design
// document, signature.
func jobSpec(database string, d *design) jobs.Spec {
	data := packed.AppendText(packed.AppendText(packed.AppendText(nil, database), d.id), string(d.signature[:]))
	return jobs.Spec{Type: jobType, ID: database + "\x00" + hex.EncodeToString(d.signature[:]), Data: data}
}

// DesignOf is the design document that a build or a piece of one is of, "" for jobs of other types.
func DesignOf(job *jobs.Job) string {
	if job.Type != jobType && job.Type != pieceJobType {
		return ""
	}
	p := parser{packed.Reader{B: job.Data}}
	_, id := p.Text(), p.Text()
	return id
}

// handleJobs lets this process work on builds.
func (v *Views) handleJobs() error {
	if v.opts.Jobs == nil {
		return nil
	}
	handled := map[string]func(context.Context, *jobs.Run) ([]byte, error){jobType: v.runJob}
	if v.opts.Nodes != nil {
		handled[pieceJobType] = v.runPiece
	}
	for name, run := range handled {
		if err := v.opts.Jobs.Handle(jobs.Type{
			Name: name, Workers: jobWorkers, Run: run, MaxFailures: jobAttempts, Pauses: true, Keep: time.Minute,
		}); err != nil {
			return err
		}
	}
	return nil
}

// runJob is a build as a job. Errors that a client is to see are its result: another attempt would
// meet them again.
func (v *Views) runJob(ctx context.Context, run *jobs.Run) ([]byte, error) {
	p := parser{packed.Reader{B: run.Data}}
	database, id, signature := p.Text(), p.Text(), p.Text()
	if p.Bad || len(signature) != len(Signature{}) {
		return nil, jobs.Permanent(corrupt("job"))
	}
	db := v.opts.Store.DB(database)
	d, uuid, err := v.designWith(ctx, db, id, Signature([]byte(signature)))
	if err == nil {
		t := progress.New(database, d.id)
		t.Report = func() { run.Progress(t.JSON()) }
		_, err = v.build(ctx, &builder{v: v, db: db, uuid: uuid, design: d, task: t, run: run})
	}
	return jobOutcome(err)
}

// jobOutcome is the outcome of a job that ended with err.
func jobOutcome(err error) (result []byte, _ error) {
	switch e, ok := compat.AsError(err); {
	case ok && e.Kind == compat.KindNoDatabase:
		return nil, jobs.ErrForget
	case ok:
		return encodeError(e), nil
	}
	return nil, err
}

// buildAsJob has a build made as a job and waits for it.
func (v *Views) buildAsJob(ctx context.Context, db *storage.DB, d *design) error {
	ticket, err := v.opts.Jobs.Add(ctx, jobSpec(db.Name(), d))
	if err != nil {
		return err
	}
	err = v.waitJob(ctx, ticket)
	if errors.Is(err, jobs.ErrNotFound) {
		return compat.ErrNoDatabase
	}
	return err
}

// errPaused is the error of a build that is paused because it may crash processes.
var errPaused = compat.NewError(compat.KindServiceUnavailable, "The build of this index is paused: "+
	jobs.ErrPaused.Error()+". It is tried again after an hour, and at once after POST /{db}/_compact/{ddoc}.")

// waitJob waits for the end of a job and gives its error.
func (v *Views) waitJob(ctx context.Context, ticket jobs.Ticket) error {
	job, err := v.opts.Jobs.Wait(ctx, ticket)
	switch {
	case errors.Is(err, jobs.ErrPaused):
		return errPaused
	case err != nil:
		return err
	case job.Error != "":
		return compat.NewError(compat.KindInternal, job.Error)
	}
	return decodeError(job.Result)
}

// maxErrorText is how many bytes of each text of an error a job's result keeps: texts may quote
// whole functions.
const maxErrorText = 20_000

// encodeError is an error of a client as a job's result.
func encodeError(e *compat.Error) []byte {
	ref := byte(0)
	if e.Ref {
		ref = 1
	}
	dst := []byte{byte(e.Kind), ref}
	for _, text := range [...]string{e.Name, e.Reason, e.ReasonJSON, e.Allow} {
		dst = packed.AppendText(dst, string(shortened(text, maxErrorText)))
	}
	return dst
}

// decodeError is the inverse of encodeError; no result is no error.
func decodeError(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	p := parser{packed.Reader{B: b}}
	kind, ref := compat.Kind(p.Byte()), p.Byte() == 1
	e := &compat.Error{Kind: kind, Ref: ref, Name: p.Text(), Reason: p.Text(), ReasonJSON: p.Text(), Allow: p.Text()}
	if p.Bad {
		return corrupt("result of a job")
	}
	return e
}

// queueBuild asks in the transaction tx for a build, once it is committed.
func (v *Views) queueBuild(tx kv.Tx, database string, d *design) error {
	if v.opts.Jobs == nil {
		return nil
	}
	_, err := v.opts.Jobs.AddTx(tx, jobSpec(database, d))
	return err
}
