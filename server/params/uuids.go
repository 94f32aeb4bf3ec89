package params

import "github.com/settee-db/settee/compat"

// UUIDCount reads the `count` of GET /_uuids, 1 if it is absent; limit is uuids/max_count
// (couch_httpd_misc_handlers:handle_uuids_req).
func UUIDCount(q compat.Query, limit int64) (int64, error) {
	text, ok := q.First("count")
	if !ok {
		text = "1"
	}
	n, ok := compat.ErlangInteger(text)
	switch {
	case ok && n > limit:
		return 0, compat.NewError(compat.KindBadRequest, "count parameter too large")
	case !ok || n < 0:
		return 0, compat.NewError(compat.KindBadRequest, "count must be a positive integer")
	}
	return n, nil
}
