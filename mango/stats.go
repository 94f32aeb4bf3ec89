package mango

import (
	"strconv"
	"time"
)

// Stats count what a query cost, as execution_stats shows it.
type Stats struct {
	Keys        int64 // rows of the index that were read
	Docs        int64 // documents that were read with them
	QuorumDocs  int64 // documents, where r > 1 asked for
	Results     int64
	Snapshots   int64  // how many were read, one after the other; parts of a parallel scan do not count
	AccessPaths []byte // where there is such an index: what was read, a list as JSON without its brackets
	Time        time.Duration
}

// AppendJSON appends the statistics (mango_execution_stats:to_json/2).
func (s *Stats) AppendJSON(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"total_keys_examined":`...), s.Keys, 10)
	dst = strconv.AppendInt(append(dst, `,"total_docs_examined":`...), s.Docs, 10)
	dst = strconv.AppendInt(append(dst, `,"total_quorum_docs_examined":`...), s.QuorumDocs, 10)
	dst = strconv.AppendInt(append(dst, `,"results_returned":`...), s.Results, 10)
	dst = append(dst, `,"execution_time_ms":`...)
	microseconds := s.Time.Microseconds()
	dst = append(strconv.AppendInt(dst, microseconds/1000, 10), '.')
	digits := strconv.AppendInt(nil, 1000+microseconds%1000, 10)[1:]
	for len(digits) > 1 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	dst = append(dst, digits...)
	if s.Snapshots > 1 {
		dst = strconv.AppendInt(append(dst, `,"snapshots":`...), s.Snapshots, 10)
	}
	if len(s.AccessPaths) > 0 {
		dst = append(append(append(dst, `,"ways":[`...), s.AccessPaths...), ']')
	}
	return append(dst, '}')
}

// warning is what the answer warns of, "" for nothing; scanWarning is the setting
// mango/index_scan_warning_threshold (mango_cursor:maybe_add_warning/4).
func (p *Plan) warning(s *Stats, scanWarning int64) string {
	text := ""
	add := func(line string) {
		if text != "" {
			text += "\n"
		}
		text += line
	}
	if use := p.req.UseIndex; len(use) > 0 && !p.index.belongs(use) {
		if len(use) == 1 {
			add(indexName(use) + " was not used because it does not contain a valid index for this query.")
		} else {
			add(indexName(use) + " was not used because it is not a valid index for this query.")
		}
	}
	if p.unindexed {
		add("No matching index found, create an index to optimize query time.")
	}
	if scanWarning > 0 && s.Docs+s.QuorumDocs > scanWarning*max(1, s.Results) {
		add("The number of documents examined is high in proportion to the number of results returned. " +
			"Consider adding a more specific index to improve this.")
	}
	return text
}
