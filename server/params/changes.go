package params

import (
	"math"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
)

// Feed is the kind of a changes feed.
type Feed string

// The feeds; `live` is another word for continuous in _changes.
const (
	FeedNormal      Feed = "normal"
	FeedLongpoll    Feed = "longpoll"
	FeedContinuous  Feed = "continuous"
	FeedEventSource Feed = "eventsource"
)

// parseFeed knows the feeds by their names.
func parseFeed(name string) (f Feed, ok bool) {
	switch f := Feed(name); f {
	case FeedNormal, FeedLongpoll, FeedContinuous, FeedEventSource:
		return f, true
	}
	return "", false
}

// MaxChangesLimit is the number of rows of a changes feed without `limit`; seq_interval counts down
// from it.
const MaxChangesLimit = 1000000000000000

// The errors of changes options. The last one stands for a crash of the real server (500 badarg).
var (
	errChangesFeed = compat.NewError(compat.KindBadRequest,
		"Supported `feed` types: normal, continuous, live, longpoll, eventsource")
	errHeartbeatNumber = compat.NewError(compat.KindBadRequest,
		"Invalid heartbeat value. Expecting a positive integer value (in milliseconds).")
	errHeartbeatPositive = compat.NewError(compat.KindBadRequest,
		"The heartbeat value should be a positive integer (in milliseconds).")
	errSeqInterval  = compat.NewError(compat.KindBadRequest, "invalid_seq_interval")
	errChangesStyle = compat.NewError(compat.KindBadRequest, "Supported `style` values: main_only, all_docs")
)

// ChangesOptions are the query options of _changes (#changes_args). Names ignore case, values do
// not; the last of several equal ones counts.
type ChangesOptions struct {
	documents.FeedOptions // the filter is there after ReadFilter

	Limit       int64 // rows; MaxChangesLimit if absent, or negative as 3.5 takes it
	SeqInterval int64 // 0 if absent

	feed   string // as sent, `live` replaced
	since  string // as sent, "0" if absent
	filter string // as sent
	fields string // as sent
	wait   feedWait

	follows36 bool
}

// ParseChanges reads the query of _changes. lastEventID is the Last-Event-ID header, "" if absent;
// it counts for feed=eventsource only, and there beats `since`. follows36 refuses a negative limit
// or timeout, as CouchDB 3.6 does, which 3.5 takes for none, and reads the names in the selector of a
// filter as that does. The feed, the filter and `since` are not
// looked at yet: CouchDB looks at the filter before the feed (chttpd_db:parse_changes_query).
func ParseChanges(q compat.Query, lastEventID string, follows36 bool) (*ChangesOptions, error) {
	o := &ChangesOptions{feed: string(FeedNormal), since: "0", Limit: MaxChangesLimit, wait: feedWait{timeout: -1}}
	o.follows36 = follows36
	for i := range q {
		if err := o.set(strings.ToLower(q[i].Name), q[i].Value); err != nil {
			return nil, err
		}
	}
	if o.feed == string(FeedEventSource) && lastEventID != "" {
		o.since = lastEventID
	}
	return o, nil
}

// set takes one parameter of _changes (chttpd_db:parse_changes_query). Switches
// can only be turned on: anything but "true" leaves them as they are. Unknown names are ignored,
// since a filter function may read them.
func (o *ChangesOptions) set(name, value string) error {
	switch name {
	case "feed":
		o.feed = value
		if value == "live" {
			o.feed = string(FeedContinuous)
		}
	case "since", "last-event-id":
		o.since = value
	case "filter":
		o.filter = value
	case "fields":
		o.fields = value
	case "style":
		return o.setStyle(value)
	case "limit", "timeout", "heartbeat", "seq_interval":
		return o.setNumber(name, value)
	}
	if value != "true" {
		return nil
	}
	switch name {
	case "descending":
		o.Descending = true
	case "include_docs":
		o.IncludeDocs = true
	case "conflicts":
		o.Conflicts = true
	case "attachments":
		o.Attachments = true
	case "att_encoding_info":
		o.AttEncodingInfo = true
	case "group":
		o.Group = true
	}
	return nil
}

// setStyle reads style: rows with the winner only, or with all leaves.
func (o *ChangesOptions) setStyle(value string) error {
	switch value {
	case "main_only":
		o.AllLeaves = false
	case "all_docs":
		o.AllLeaves = true
	default:
		return errChangesStyle
	}
	return nil
}

// setNumber takes a parameter that is a number, with CouchDB's error for each of them when it is
// not. heartbeat=true stands for the server's usual interval and is kept as -1. A negative limit
// means none where it passes.
func (o *ChangesOptions) setNumber(name, value string) error {
	n, ok := compat.ErlangInteger(value)
	switch name {
	case "limit", "timeout":
		switch {
		case !ok:
			return compat.NewError(compat.KindBadRequest, "The "+name+" parameter should be a non-negative integer")
		case n < 0 && o.follows36:
			return compat.NewError(compat.KindBadRequest, "The "+name+" value should be a non-negative integer")
		case name == "timeout":
			o.wait.timeout = max(n, 0)
		case n < 0:
			o.Limit = MaxChangesLimit
		default:
			o.Limit = n
		}
	case "heartbeat":
		switch {
		case value == "true":
			n = -1
		case !ok:
			return errHeartbeatNumber
		case n <= 0:
			return errHeartbeatPositive
		}
		o.wait.heartbeat = n
	case "seq_interval":
		if !ok || n <= 0 {
			return errSeqInterval
		}
		o.SeqInterval = n
	}
	return nil
}

// CheckFeed gives the feed.
func (o *ChangesOptions) CheckFeed() (Feed, error) {
	f, ok := parseFeed(o.feed)
	if !ok {
		return "", errChangesFeed
	}
	return f, nil
}

// ParseSince reads `since`, which descending feeds do not look at.
func (o *ChangesOptions) ParseSince() (compat.Since, error) {
	if o.Descending {
		return compat.Since{}, nil
	}
	return compat.ParseSince(o.since)
}

// Wait tells how long a feed waits for the next change, and whether it then sends a heartbeat and
// goes on, or ends. limit is chttpd/changes_timeout: the default of both, and their maximum
// (couch_changes:get_changes_timeout).
func (o *ChangesOptions) Wait(limit time.Duration) (d time.Duration, heartbeat bool) {
	return o.wait.resolve(limit)
}

// feedWait holds the options `heartbeat` and `timeout`, in milliseconds.
type feedWait struct {
	heartbeat int64 // 0 off, -1 `true`
	timeout   int64 // -1 absent
}

// resolve tells how long a feed waits, at most the limit, and whether it sends heartbeats
// meanwhile. A heartbeat goes before a timeout.
func (w feedWait) resolve(limit time.Duration) (d time.Duration, heartbeat bool) {
	switch {
	case w.heartbeat < 0:
		return limit, true
	case w.heartbeat > 0:
		return min(milliseconds(w.heartbeat), limit), true
	case w.timeout < 0:
		return limit, false
	}
	return min(milliseconds(w.timeout), limit), false
}

func milliseconds(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}
