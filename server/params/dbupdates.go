package params

import (
	"time"

	"github.com/settee-db/settee/compat"
)

// DBUpdatesOptions are the query options of _db_updates; names are case-sensitive.
type DBUpdatesOptions struct {
	Limit      int64 // rows; MaxChangesLimit if absent
	Descending bool

	feed  string // as sent, the first one
	since string // as sent, "0" if absent
	wait  feedWait
}

// ParseDBUpdates reads the query of _db_updates (global_changes_httpd:parse_global_changes_query).
func ParseDBUpdates(q compat.Query) (*DBUpdatesOptions, error) {
	o := &DBUpdatesOptions{feed: string(FeedNormal), since: "0", Limit: MaxChangesLimit, wait: feedWait{timeout: -1}}
	if feed, ok := q.First("feed"); ok {
		o.feed = feed
	}
	for i := range q {
		if err := o.set(q[i].Name, q[i].Value); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// set takes one parameter of _db_updates. Unlike those of _changes, all numbers share one error and
// must not be negative.
func (o *DBUpdatesOptions) set(name, value string) error {
	var number *int64
	switch name {
	case "descending":
		o.Descending = o.Descending || value == "true"
		return nil
	case "since":
		o.since = value
		return nil
	case "heartbeat":
		switch value {
		case "true":
			o.wait.heartbeat = -1
			return nil
		case "false": // does not undo an earlier heartbeat
			return nil
		}
		number = &o.wait.heartbeat
	case "limit":
		number = &o.Limit
	case "timeout":
		number = &o.wait.timeout
	default:
		return nil
	}
	n, ok := compat.ErlangInteger(value)
	if !ok || n < 0 {
		return compat.NewError(compat.KindBadRequest, "invalid_integer")
	}
	*number = n
	return nil
}

// CheckFeed gives the feed; there is no `live` here.
func (o *DBUpdatesOptions) CheckFeed() (Feed, error) {
	f, ok := parseFeed(o.feed)
	if !ok {
		return "", compat.NewError(compat.KindBadRequest, "Supported `feed` types: normal, continuous, longpoll, eventsource")
	}
	return f, nil
}

// ParseSince is ChangesOptions.ParseSince.
func (o *DBUpdatesOptions) ParseSince() (compat.Since, error) {
	if o.Descending {
		return compat.Since{}, nil
	}
	return compat.ParseSince(o.since)
}

// Wait tells how long a feed waits, see ChangesOptions.Wait. A heartbeat of 0 is none.
func (o *DBUpdatesOptions) Wait(limit time.Duration) (d time.Duration, heartbeat bool) {
	return o.wait.resolve(limit)
}
