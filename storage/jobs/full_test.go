package jobs

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestFullStore: jobs that meet a full store do not fail: they wait, who waits for them is told,
// and they go on when there is space. What frees space runs meanwhile.
func TestFullStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := faultkv.NewDisk(memkv.New())
		q := openQueue(t, disk, true)
		defer q.Close()
		runs := 0
		must(t, q.Handle(Type{Name: "build", MaxFailures: 1, Run: func(ctx context.Context, r *Run) ([]byte, error) {
			runs++
			time.Sleep(time.Minute)
			_, err := disk.Update(ctx, func(tx kv.Tx) error {
				tx.Set([]byte("row"), nil)
				return r.Check(tx)
			})
			return nil, err
		}}))
		cleaned := 0
		must(t, q.Handle(Type{Name: "clean", Frees: true, Run: func(context.Context, *Run) ([]byte, error) {
			cleaned++
			return nil, nil
		}}))
		must(t, q.Handle(Type{Name: "later", Run: func(context.Context, *Run) ([]byte, error) { return nil, nil }}))
		ticket := add(t, q, Spec{Type: "build", ID: "a"})
		clean := add(t, q, Spec{Type: "clean", ID: "a", After: time.Minute})
		later := add(t, q, Spec{Type: "later", ID: "a", After: time.Minute})
		synctest.Wait()
		disk.Leave(faultkv.Reserve)
		if _, err := q.Wait(t.Context(), ticket); err == nil {
			t.Error("waited for a job that waits for space")
		}
		time.Sleep(time.Hour)
		if runs != 1 || cleaned != 1 {
			t.Errorf("%d builds, %d clean-ups on a full store", runs, cleaned)
		}
		job, err := q.Get(t.Context(), "build", "a")
		if err != nil || job.State != Pending || job.Failures != 0 || job.Error != kv.ErrFull.Error() {
			t.Errorf("%+v %v", job, err)
		}
		disk.Leave(faultkv.Roomy)
		for _, ticket := range []Ticket{ticket, clean, later} {
			if job, err := q.Wait(t.Context(), ticket); err != nil || job.State != Finished || job.Error != "" {
				t.Errorf("%+v %v", job, err)
			}
		}
	})
}

// TestFullAtTheStart: a queue is opened on a store without any space, with a job that a dead
// process was at. It runs when there is space.
func TestFullAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := faultkv.NewDisk(memkv.New())
		dead := openQueue(t, disk, true)
		ticket := add(t, dead, Spec{Type: "t", ID: "a"})
		began := make(chan struct{})
		must(t, dead.Handle(Type{Name: "t", Run: func(ctx context.Context, _ *Run) ([]byte, error) {
			close(began)
			<-ctx.Done()
			return nil, ctx.Err()
		}}))
		<-began
		disk.Leave(faultkv.None)
		must(t, dead.Close()) // cannot write that it gives the job back
		q := openQueue(t, disk, true)
		defer q.Close()
		must(
			t,
			q.Handle(Type{Name: "t", Run: func(context.Context, *Run) ([]byte, error) { return []byte("done"), nil }}),
		)
		time.Sleep(time.Hour)
		if job, err := q.Get(t.Context(), "t", "a"); err != nil || job.State != Running {
			t.Errorf("%+v %v", job, err)
		}
		disk.Leave(faultkv.Roomy)
		if job, err := q.Wait(t.Context(), ticket); err != nil || string(job.Result) != "done" {
			t.Errorf("%+v %v", job, err)
		}
	})
}
