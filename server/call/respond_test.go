package call

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
)

// TestUnexpectedErrors: a full disk has a status of its own, clients come again later to a store that does not answer
// or is too slow; what has no wire meaning is a 500.
func TestUnexpectedErrors(t *testing.T) {
	c := &Call{Env: &Env{Log: slog.New(slog.DiscardHandler)}, Request: httptest.NewRequest("GET", "/", nil)}
	if e := c.unexpected(fmt.Errorf("commit: %w", kv.ErrFull)); e.Kind != compat.KindInsufficientStorage ||
		e.Status() != 507 {
		t.Errorf("a full disk answers %d %v", e.Status(), e)
	}
	for want, err := range map[*compat.Error]error{
		errUnavailable: fmt.Errorf("%w: %w", kv.ErrTooOld, kv.ErrUnavailable),
		errSlow:        fmt.Errorf("%w: 1007", kv.ErrTooOld),
	} {
		if e := c.unexpected(err); e != want || e.Status() != 503 || !e.Retry {
			t.Errorf("%v answers %d %v", err, e.Status(), e)
		}
	}
	if n := c.Env.Unavailable.Load(); n != 2 {
		t.Errorf("%d requests are counted as those that the store did not answer", n)
	}
	if e := c.unexpected(errors.New("broken")); e.Status() != 500 || e.Reason != "broken" {
		t.Errorf("an internal error answers %d %v", e.Status(), e)
	}
}
