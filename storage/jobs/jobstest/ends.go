package jobstest

import (
	"context"
	"testing"

	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
)

// EndsWhile simulates three crashes in a row while jobs of a type run: each process loses the jobs
// to the next one and never comes back. do says that they are begun by Queue.Do. prefix is that of
// the queue, which is to be one that has the store to itself.
func EndsWhile(t testing.TB, store kv.Store, prefix []byte, typ string, do bool, specs ...jobs.Spec) {
	t.Helper()
	for ends := range 4 {
		q, err := jobs.Open(t.Context(), jobs.Options{KV: store, Prefix: prefix, Exclusive: true})
		must(t, err)
		began, end := make(chan struct{}, len(specs)), make(chan struct{})
		t.Cleanup(func() { close(end); must(t, q.Close()) })
		if ends == 3 {
			return
		}
		run := func() { began <- struct{}{}; <-end }
		of := jobs.Type{Name: typ, Workers: len(specs), Pauses: true}
		if !do {
			of.Run = func(context.Context, *jobs.Run) ([]byte, error) { run(); return nil, nil }
		}
		must(t, q.Handle(of))
		for _, spec := range specs {
			if do {
				go q.Do(context.Background(), spec, func(context.Context) error { run(); return nil })
				continue
			}
			_, err = q.Add(t.Context(), spec)
			must(t, err)
		}
		for range specs {
			<-began
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
