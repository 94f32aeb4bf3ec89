package mango

import (
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
)

// Request is a checked request to _find or _explain. It is immutable and owns its memory.
type Request struct {
	Selector       *selector.Selector
	UseIndex       []string // design document, or it and the name of a view; empty: none asked for
	Bookmark       string   // "" for none
	Sort           Sort
	Fields         *selector.Fields
	Partition      string // "" for the whole database
	Conflicts      bool
	StaleOK        bool
	Update         bool
	Stable         bool
	ExecutionStats bool
	AllowFallback  bool
	// Count asks for the number of all documents that pass the selector; not in CouchDB.
	Count bool

	limit, skip, r number
	textLimits     map[Kind]int64 // see Defaults
}

// Defaults are what a request gets from outside its body.
type Defaults struct {
	Limit     int64   // mango/default_limit
	Partition *string // of the path or the query string, nil for none
	// TextLimit and NouveauLimit are how many documents indexes of these types give at most; 0: as
	// many as there are.
	TextLimit, NouveauLimit int64
	// Follows36 has ids compared and names of fields read as CouchDB 3.6 does: see CollateIDs and
	// ParseSelector35 of package selector.
	Follows36 bool
}

// ParseRequest reads the body of a request, an object. Errors are those of
// mango_opts:validate_find/1, in its order.
func ParseRequest(body ejson.Value, d Defaults) (*Request, error) {
	if d.Partition != nil {
		if given, ok := body.Get("partition"); ok {
			return nil, errNoClause("mango_httpd", "bad_partition", given)
		}
	}
	r := &Request{
		Update: true, AllowFallback: true, Fields: new(selector.Fields),
		limit: number{
			n:    d.Limit,
			text: strconv.FormatInt(d.Limit, 10),
		}, skip: number{text: "0"}, r: number{n: 1, text: "1"},
	}
	// Which kind of index answers is not known yet, so that each kind has its limit ready.
	r.textLimits = map[Kind]int64{KindText: d.TextLimit, KindNouveau: d.NouveauLimit}
	// The members are taken in the order of mango_opts: the first fault is told, whichever comes
	// first in the body. After a fault m takes nothing more.
	m := newMembers(body)
	if v, ok := m.require("selector"); ok {
		if r.Selector = m.selector(v, d.Follows36); d.Follows36 && m.err == nil {
			r.Selector.CollateIDs()
		}
	}
	if v, ok := m.take("use_index"); ok && !v.IsNull() {
		r.UseIndex, m.err = parseUseIndex(v)
	}
	if v, ok := m.take("bookmark"); ok && !v.IsNull() {
		if r.Bookmark = v.Text(); v.Kind() != ejson.String {
			m.err = errNoClause("mango_opts", "invalid_bookmark", v)
		}
	}
	m.integer("limit", false, &r.limit)
	m.integer("skip", false, &r.skip)
	if v, ok := m.take("sort"); ok {
		r.Sort, m.err = parseSort(v)
	}
	if v, ok := m.take("fields"); ok {
		r.Fields, m.err = selector.ParseFields(v)
	}
	r.readPartition(m, d.Partition)
	m.integer("r", true, &r.r)
	m.boolean("conflicts", &r.Conflicts)
	r.readStale(m)
	m.boolean("update", &r.Update)
	m.boolean("stable", &r.Stable)
	m.boolean("execution_stats", &r.ExecutionStats)
	m.boolean("allow_fallback", &r.AllowFallback)
	m.boolean("count", &r.Count)
	return r, m.finish()
}

// readPartition reads the partition of the request (mango_opts:validate_partition/1). One in the
// body goes before outer, the one that the caller gives; both must have the syntax of a partition.
func (r *Request) readPartition(m *members, outer *string) {
	v, ok := m.take("partition")
	switch {
	case ok && v.Kind() != ejson.String:
		m.err = compat.NewError(compat.KindIllegalPartition, "Partition must be a string")
		return
	case ok:
		r.Partition = v.Text()
	case outer != nil && m.err == nil:
		r.Partition = *outer
	}
	if r.Partition != "" {
		m.err = compat.ValidatePartition(r.Partition)
	}
}

// readStale reads the option stale, which is "ok" or false.
func (r *Request) readStale(m *members) {
	v, ok := m.take("stale")
	if !ok {
		return
	}
	no, isBool := v.Bool()
	switch {
	case v.TextIs("ok") && v.Kind() == ejson.String:
		r.StaleOK = true
	case v.TextIs("false") && v.Kind() == ejson.String, isBool && !no:
	default:
		m.err = errNoClause("mango_opts", "invalid_ok_or_false_value", v)
	}
}

// parseUseIndex reads "d", "_design/d", "d/v", "_design/d/v", [], ["d"] or ["d","v"]
// (mango_opts:validate_use_index/1).
func parseUseIndex(v ejson.Value) ([]string, error) {
	bad := compat.Named(compat.KindBadRequest, "invalid_index_name", "Invalid index name: "+term(v))
	if v.Kind() == ejson.String {
		parts := strings.Split(v.Text(), "/")
		if len(parts) > 1 && parts[0] == "_design" {
			parts = parts[1:]
		}
		if len(parts) > 2 {
			return nil, bad
		}
		return parts, nil
	}
	if v.Kind() != ejson.Array || v.Len() > 2 {
		return nil, bad
	}
	var parts []string
	for e := range v.Elements() {
		if e.Kind() != ejson.String {
			return nil, bad
		}
		parts = append(parts, e.Text())
	}
	return parts, nil
}

// appendJSON appends the options as _explain shows them.
func (r *Request) appendJSON(dst []byte) []byte {
	dst = ejson.AppendStrings(append(dst, `{"use_index":`...), r.UseIndex)
	bookmark := r.Bookmark
	if bookmark == "" {
		bookmark = noBookmark
	}
	dst = ejson.AppendString(append(dst, `,"bookmark":`...), bookmark)
	dst = append(append(dst, `,"limit":`...), r.limit.text...)
	dst = append(append(dst, `,"skip":`...), r.skip.text...)
	dst = r.Sort.appendJSON(append(dst, `,"sort":`...))
	dst = r.Fields.AppendNames(append(dst, `,"fields":`...))
	dst = ejson.AppendString(append(dst, `,"partition":`...), r.Partition)
	dst = append(append(dst, `,"r":`...), r.r.text...)
	dst = appendBool(append(dst, `,"conflicts":`...), r.Conflicts)
	if r.StaleOK {
		dst = append(dst, `,"stale":"ok"`...)
	} else {
		dst = append(dst, `,"stale":false`...)
	}
	dst = appendBool(append(dst, `,"update":`...), r.Update)
	dst = appendBool(append(dst, `,"stable":`...), r.Stable)
	dst = appendBool(append(dst, `,"execution_stats":`...), r.ExecutionStats)
	dst = appendBool(append(dst, `,"allow_fallback":`...), r.AllowFallback)
	return append(dst, '}')
}

func appendBool(dst []byte, b bool) []byte { return strconv.AppendBool(dst, b) }
