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

// TestUnexpectedErrors: a full disk has a status of its own; what has no wire meaning is a 500.
func TestUnexpectedErrors(t *testing.T) {
	c := &Call{Env: &Env{Log: slog.New(slog.DiscardHandler)}, Request: httptest.NewRequest("GET", "/", nil)}
	if e := c.unexpected(fmt.Errorf("commit: %w", kv.ErrFull)); e.Kind != compat.KindInsufficientStorage ||
		e.Status() != 507 {
		t.Errorf("a full disk answers %d %v", e.Status(), e)
	}
	if e := c.unexpected(errors.New("broken")); e.Status() != 500 || e.Reason != "broken" {
		t.Errorf("an internal error answers %d %v", e.Status(), e)
	}
}
