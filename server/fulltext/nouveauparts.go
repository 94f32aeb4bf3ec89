package fulltext

import (
	"net/http"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/search/index"
)

// hitsTogether is how many hits of an answer of _nouveau are in memory at a time. A longer answer
// takes a search for each such part. It is a variable for tests.
var hitsTogether int64 = 10_000

// parts answers the hits of a query part by part: each begins behind the last hit of the one
// before. Where a snapshot becomes too old between two hits, the Searcher calls again with another
// one, and the answer goes on there as it would behind a bookmark.
func (a *nouveauAnswer) parts(q *index.Request) error {
	for {
		if a.written > 0 {
			q.After, q.Counts, q.Ranges = &index.After{Values: a.last.Sort}, nil, nil
		}
		q.Limit = int(min(a.o.Limit-a.written, hitsTogether))
		result, err := a.search(q)
		if err != nil {
			return err
		}
		if a.first == nil {
			if err := a.begin(result, len(result.Hits) == q.Limit && q.Limit < int(a.o.Limit)); err != nil {
				return err
			}
		}
		err = a.hits(result.Hits, a.written > 0, func(hit *index.Hit) {
			a.written++
			a.last, a.s.Begun = *hit, false
		})
		if err != nil {
			return err
		}
		if len(result.Hits) < q.Limit || a.written == a.o.Limit {
			return a.finish()
		}
	}
}

// search runs a search; each part of an answer has the whole time of a query.
func (a *nouveauAnswer) search(q *index.Request) (*index.Result, error) {
	ctx, cancel := queryTime(a.c.Context(), a.c)
	defer cancel()
	return a.s.Search(ctx, q)
}

// begin writes what comes before the hits. Members are sorted, but for the bookmark of a long
// answer: its last hit is not known yet.
func (a *nouveauAnswer) begin(result *index.Result, long bool) error {
	a.first = &index.Result{Total: result.Total, Counts: result.Counts, Ranges: result.Ranges}
	a.long, a.stream = long, a.c.Stream(http.StatusOK)
	b := append(a.stream.Buffer(), '{')
	if n := len(result.Hits); !long {
		bookmark := orderBookmark(a.sort, nil)
		if n > 0 {
			bookmark = orderBookmark(a.sort, &result.Hits[n-1])
		} else if a.o.Bookmark != nil {
			bookmark = *a.o.Bookmark
		}
		b = append(ejson.AppendString(append(b, `"bookmark":`...), bookmark), ',')
	}
	b = append(b, `"counts":`...)
	if a.o.Counted {
		b = a.appendCounts(b, result.Counts)
	} else {
		b = append(b, "null"...)
	}
	return a.stream.Commit(append(b, `,"hits":[`...))
}

// finish writes what comes behind the hits.
func (a *nouveauAnswer) finish() error {
	b := append(a.stream.Buffer(), `],"ranges":`...)
	if a.o.Ranged {
		b = a.appendRanges(b, a.first.Ranges)
	} else {
		b = append(b, "null"...)
	}
	return a.end(b, a.first.Total)
}
