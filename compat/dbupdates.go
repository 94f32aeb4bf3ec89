package compat

import "time"

// DBUpdatesOptions are the query options of _db_updates; names are case-sensitive.
type DBUpdatesOptions struct {
	Feed       string // as sent, the first one; CheckFeed makes a Feed of it
	Since      string // as sent, "0" if absent
	Limit      int64  // rows; MaxChangesLimit if absent
	Descending bool

	wait feedWait
}

// ParseDBUpdatesOptions reads the query of _db_updates (global_changes_httpd:parse_global_changes_query).
func ParseDBUpdatesOptions(q Query) (*DBUpdatesOptions, error) {
	o := &DBUpdatesOptions{Feed: string(FeedNormal), Since: "0", Limit: MaxChangesLimit, wait: feedWait{timeout: -1}}
	if feed, ok := q.First("feed"); ok {
		o.Feed = feed
	}
	for i := range q {
		if err := o.set(q[i].Name, q[i].Value); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o *DBUpdatesOptions) set(name, value string) error {
	var number *int64
	switch name {
	case "descending":
		o.Descending = o.Descending || value == "true"
		return nil
	case "since":
		o.Since = value
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
	n, ok := ErlangInteger(value)
	if !ok || n < 0 {
		return NewError(KindBadRequest, "invalid_integer")
	}
	*number = n
	return nil
}

// CheckFeed gives the feed; there is no `live` here.
func (o *DBUpdatesOptions) CheckFeed() (Feed, error) {
	f, ok := parseFeed(o.Feed)
	if !ok {
		return "", NewError(KindBadRequest, "Supported `feed` types: normal, continuous, longpoll, eventsource")
	}
	return f, nil
}

// Wait tells how long a feed waits, see ChangesOptions.Wait. A heartbeat of 0 is none.
func (o *DBUpdatesOptions) Wait(limit time.Duration) (d time.Duration, heartbeat bool) {
	return o.wait.resolve(limit)
}
