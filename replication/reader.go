package replication

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// feedPause keeps a feed that ends again and again without a row from becoming a storm of requests.
const feedPause = 200 * time.Millisecond

// longestFeedWait is how long a source is left alone at most that does not answer.
const longestFeedWait = 8 * time.Second

// readChanges follows the source's changes: to their end, or for as long as the session lives.
// Where a feed breaks off, it goes on after the last row. One that fails is asked for again as
// often as other requests are; where the source does not answer that is for half of the health
// threshold, a minute by default, so that a source may be started anew
// (couch_replicator_changes_reader, couch_replicator_httpc:total_error_time_exceeded). A source
// that answers 500 is there: mostly it is the filter that fails, and does so again.
func (r *Session) readChanges(ctx context.Context, b *batcher) error {
	defer close(b.rows)
	since, left, wait := r.points.start, r.spec.Options.Retries, firstWait
	var failing time.Time // since when; zero: the last feed had rows, or ended by itself
	for {
		begun, rows := time.Now(), 0
		next := ChangesRequest{Since: since, Options: &r.spec.Options}
		last, err := r.source.Changes(ctx, next, func(row ChangeRow) error {
			rows++
			if row.ID == "" {
				return nil // very old servers could have such a document; nobody can read it
			}
			if limit := r.set.MaxDocumentIDSize; limit > 0 && len(row.ID) > limit {
				r.log("document is not replicated: its id is too long", "replication", r.spec.ID.String(),
					"document", row.ID[:min(len(row.ID), 64)])
				r.counters.failures.Add(1)
				return nil
			}
			if err := b.put(ctx, row); err != nil {
				return &callbackError{err}
			}
			// It moves only when the row is queued: a feed that breaks off before is asked for the
			// row again.
			since = row.Seq
			return nil
		})
		// Progress makes up for the failures before.
		if rows > 0 || err == nil {
			left, wait, failing = r.spec.Options.Retries, firstWait, time.Time{}
		}
		var callback *callbackError
		var failure *Failure
		var away *httpFailure
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &callback):
			return callback.err
		case err == nil && !r.spec.Options.Continuous:
			return nil
		case err == nil:
			// The feed was silent, or its filter let nothing pass, up to there. A row without an id
			// tells that to the checkpoints, so that the next session need not read the same again.
			if last != "" && last != since {
				if err := b.put(ctx, ChangeRow{Seq: last}); err != nil {
					return err
				}
				since = last
			}
			if rows == 0 && time.Since(begun) < feedPause {
				if err := sleep(ctx, feedPause); err != nil {
					return err
				}
			}
			continue
		case errors.As(err, &failure) && failure == maxBackoff:
			return err
		}
		if failing.IsZero() {
			failing = time.Now()
		}
		// With retries_per_request = 0 the user has asked for none, and gets none.
		patient := r.spec.Options.Retries > 0 && errors.As(err, &away) && away.code != http.StatusInternalServerError &&
			time.Since(failing) < r.set.HealthThreshold/2
		if left--; left < 0 && !patient || isAddressError(err) {
			return changesFailure(err)
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, longestFeedWait)
	}
}

// changesFailure is what the job tells of a feed that failed for good
// (couch_replicator_scheduler_job:handle_info).
func changesFailure(err error) error {
	var failure *Failure
	var h *httpFailure
	switch {
	case errors.As(err, &h) && h.code != 0:
		return termPairFailure("changes_reader_died", tupleTerm("http_request_failed",
			stringTerm(h.method), stringTerm(h.url), tupleTerm("code", intTerm(h.code))))
	case errors.As(err, &h):
		return termPairFailure("changes_req_failed", "{error,"+h.cause+"}")
	case errors.As(err, &failure):
		return err
	}
	return pairFailure("changes_reader_died", err.Error())
}
