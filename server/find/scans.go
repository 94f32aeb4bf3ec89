package find

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
)

// Of so many kinds of queries is remembered what they read, where the names of their fields take no
// more bytes than that.
const (
	mostScans      = 256
	mostFieldNames = 1 << 10
)

// scans remembers since the start of the process which fields queries without an index asked for,
// so that somebody can make one; those that were asked for longest ago are forgotten. Values of
// selectors are not kept.
type scans struct {
	mu   sync.Mutex
	kept *simplelru.LRU[string, *scan] // by the name of the database and those of the fields
}

// scan are the queries of one database with conditions on the same fields.
type scan struct {
	fields                     []string // sorted
	queries, examined, results int64
}

func newScans() *scans {
	kept, _ := simplelru.NewLRU[string, *scan](mostScans, nil) // it fails only for a number below 1
	return &scans{kept: kept}
}

// note counts a query that has read documents one after the other. One without conditions on fields
// wants all of them.
func (s *scans) note(database string, fields []string, stats *mango.Stats) {
	fields = slices.DeleteFunc(fields, func(name string) bool { return name == "_id" || strings.HasPrefix(name, "$") })
	slices.Sort(fields)
	fields = slices.Compact(fields)
	key := database + "\x00" + strings.Join(fields, "\x00")
	if len(fields) == 0 || len(key)-len(database) > mostFieldNames {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, known := s.kept.Get(key)
	if !known {
		now = &scan{fields: strings.Split(key, "\x00")[1:]} // the request's own are parts of its body
		s.kept.Add(key, now)
	}
	now.queries++
	now.examined += stats.Docs
	now.results += stats.Results
}

// append appends the member scans of a database: the dearest first.
func (s *scans) append(b []byte, database string) []byte {
	var list []scan
	s.mu.Lock()
	for _, key := range s.kept.Keys() {
		if one, _ := s.kept.Peek(key); strings.HasPrefix(key, database+"\x00") {
			list = append(list, *one)
		}
	}
	s.mu.Unlock()
	sort.Slice(list, func(i, j int) bool { return list[i].examined > list[j].examined })
	b = append(b, `,"scans":[`...)
	for i, one := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = ejson.AppendStrings(append(b, `{"fields":`...), one.fields)
		b = strconv.AppendInt(append(b, `,"queries":`...), one.queries, 10)
		b = strconv.AppendInt(append(b, `,"docs_examined":`...), one.examined, 10)
		b = append(strconv.AppendInt(append(b, `,"results_returned":`...), one.results, 10), '}')
	}
	return append(b, ']')
}
