package cases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/settee-db/settee/eventing"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage/kv"
)

// Options are what cases run with.
type Options struct {
	Open func() kv.Store // an empty store, which the case closes
	JS   *js.Pool        // runs the handlers; cases share it
}

// run is a case that runs.
type run struct {
	*eventing.Rehearsal
	ctx     context.Context // of Run, whose call is the run's whole life
	store   *store
	source  string
	servers servers
}

// Run runs a case of a function. The result tells what is not as the case expects, empty for a
// case that passes; an error tells why it could not be run to its end.
func Run(ctx context.Context, o Options, f *definition.Function, c *Case) (failed []string, err error) {
	r := &run{ctx: ctx, source: f.Bindings.SourceBucket, servers: servers{answers: maps.Clone(c.Answers)}}
	if r.store, err = openStore(ctx, o); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.store.close()) }()
	if err := r.prepare(f, c); err != nil {
		return nil, err
	}
	engine := eventing.Options{
		KV: r.store.kv, Store: r.store.store, Views: r.store.views, Jobs: r.store.jobs, JS: o.JS,
		Log: slog.New(slog.DiscardHandler), Answer: r.servers.answer,
	}
	if r.Rehearsal, err = eventing.Rehearse(ctx, engine, r.store.docs, f, c.Now); err != nil {
		return nil, err
	}
	defer r.Close()
	if err := r.Settle(ctx); err != nil {
		return nil, err
	}
	last := &Expected{} // at the end, nothing may have failed that was not expected
	for i := range c.Steps {
		s := &c.Steps[i]
		if failed, err = r.step(s); err != nil || len(failed) > 0 {
			return failed, within(i, failed, err)
		}
		if s.Expect != nil {
			last.Failures = s.Expect.Failures
		}
	}
	return r.expect(last)
}

// within says in which step something has failed.
func within(i int, failed []string, err error) error {
	for n := range failed {
		failed[n] = fmt.Sprintf("step %d:\n%s", i+1, failed[n])
	}
	if err != nil {
		err = fmt.Errorf("step %d: %w", i+1, err)
	}
	return err
}

// prepare makes the databases that the function and the case name, and the case's documents.
func (r *run) prepare(f *definition.Function, c *Case) error {
	databases := append(f.Databases(), slices.Collect(maps.Keys(c.Documents))...)
	for i := range c.Steps {
		if in := c.Steps[i].In; in != "" {
			databases = append(databases, in)
		}
	}
	slices.Sort(databases)
	for _, database := range slices.Compact(databases) {
		if err := r.store.create(r.ctx, database); err != nil {
			return err
		}
		docs := c.Documents[database]
		for _, id := range slices.Sorted(maps.Keys(docs)) {
			if err := r.store.put(r.ctx, database, id, docs[id]); err != nil {
				return err
			}
		}
	}
	return nil
}

// step does what a step says, and has the function handle it.
func (r *run) step(s *Step) (failed []string, err error) {
	in := cmp.Or(s.In, r.source)
	switch {
	case s.Expect != nil:
		return r.expect(s.Expect)
	case s.Advance != "":
		return nil, r.Advance(r.ctx, s.advance)
	case s.Set != "":
		err = r.store.put(r.ctx, in, s.Set, s.Doc)
	case s.Delete != "":
		err = r.store.put(r.ctx, in, s.Delete, nil)
	default:
		err = r.Expire(r.ctx, in, s.Expire)
	}
	if err == nil {
		err = r.Settle(r.ctx)
	}
	return nil, err
}
