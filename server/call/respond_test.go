package call

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http/httptest"
	"syscall"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
)

// TestUnexpectedErrors: a full disk has a status of its own, clients come again later to a store
// that does not answer, is too slow or cannot be written; what has no wire meaning is a 500.
func TestUnexpectedErrors(t *testing.T) {
	env := &Env{Log: slog.New(slog.DiscardHandler)}
	a := &Answer{head: &Head{Env: env, Request: httptest.NewRequest("GET", "/", nil)}}
	if e := a.unexpected(fmt.Errorf("commit: %w", kv.ErrFull)); e.Kind != compat.KindInsufficientStorage ||
		e.Status() != 507 {
		t.Errorf("a full disk answers %d %v", e.Status(), e)
	}
	for want, err := range map[*compat.Error]error{
		errUnavailable: fmt.Errorf("%w: %w", kv.ErrTooOld, kv.ErrUnavailable),
		errSlow:        fmt.Errorf("%w: 1007", kv.ErrTooOld),
		errUnwritable:  fmt.Errorf("%w: %w", kv.ErrUnwritable, syscall.EROFS),
		errUnwritten:   fmt.Errorf("%w: %w", kv.ErrUnavailable, &fs.PathError{Err: syscall.EROFS}),
	} {
		if e := a.unexpected(err); e != want || e.Status() != 503 || !e.Retry {
			t.Errorf("%v answers %d %v", err, e.Status(), e)
		}
	}
	if e := a.unexpected(fmt.Errorf("%w: %w", kv.ErrUnavailable, syscall.ENOSPC)); e != errUnavailable {
		t.Errorf("a commit that met a full disk answers %d %v", e.Status(), e)
	}
	if n := env.Unavailable.Load(); n != 4 {
		t.Errorf("%d requests are counted as those that the store did not answer", n)
	}
	if e := a.unexpected(errors.New("broken")); e.Status() != 500 || e.Reason != "broken" {
		t.Errorf("an internal error answers %d %v", e.Status(), e)
	}
}
