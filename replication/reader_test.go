package replication

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// startedAnew is a source that does not answer for a while, from when its feed is first asked for.
type startedAnew struct {
	Peer
	began time.Time
	code  int // with which it answers meanwhile; 0: not at all
	after time.Duration
	quiet time.Duration // before that its feed ends now and then without a row
}

func (s *startedAnew) Changes(_ context.Context, _ ChangesRequest, row func(ChangeRow) error) (Sequence, error) {
	switch since := time.Since(s.began); {
	case since < s.quiet:
		time.Sleep(30 * time.Second)
		return "", nil
	case since < s.quiet+s.after:
		switch {
		case s.code >= 500:
			return "", &httpFailure{method: "GET", url: "http://127.0.0.1/db/_changes", code: s.code}
		case s.code != 0:
			return "", termFailure("changes_req_failed", intTerm(s.code))
		}
		return "", &httpFailure{cause: "{conn_failed,{error,econnrefused}}"}
	}
	if err := row(ChangeRow{ID: "doc", Seq: `"1"`}); err != nil {
		return "", err
	}
	return "", maxBackoff // so much for this test
}

// TestFeedsWaitForTheirSource: a source that is started anew ends no replication; one that stays
// away, or answers with what is no feed, does.
func TestFeedsWaitForTheirSource(t *testing.T) {
	for _, c := range []struct {
		name         string
		quiet, after time.Duration
		code         int
		retries      int
		row          bool
		took         time.Duration // at least, less than twice as much
	}{
		{name: "at once", retries: 5, row: true},
		{name: "after half a minute", after: 30 * time.Second, retries: 5, row: true, took: 30 * time.Second},
		{
			name: "after half a minute, in a quiet database", quiet: time.Hour, after: 30 * time.Second, retries: 5,
			row: true, took: time.Hour,
		},
		{name: "away", after: time.Hour, retries: 5, took: time.Minute},
		{name: "away, without retries", after: time.Hour},
		{name: "away, many retries", after: 3 * time.Minute, retries: 30, row: true, took: 3 * time.Minute},
		{name: "an error, as of a filter", after: time.Hour, code: 500, retries: 5, took: 7 * time.Second},
		{name: "a proxy in front is there", after: time.Hour, code: 503, retries: 5, took: time.Minute},
		{name: "no feed", after: time.Hour, code: 404, retries: 5, took: 7 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set := DefaultSettings()
				source := &startedAnew{began: time.Now(), quiet: c.quiet, after: c.after, code: c.code}
				options := Options{Retries: c.retries, Continuous: true}
				s := &Session{spec: &Spec{Options: options}, set: &set, source: source}
				began, b := time.Now(), newBatcher(1)
				require.Error(t, s.readChanges(t.Context(), b))
				_, row := <-b.rows
				require.Equal(t, c.row, row)
				took := time.Since(began)
				require.GreaterOrEqual(t, took, c.took)
				require.LessOrEqual(t, took, 2*c.took)
			})
		})
	}
}
