package compat

import (
	"bytes"
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
)

// ViewType reports whether a query is answered by rows of the map function or by reduced values.
type ViewType uint8

// The types of queries.
const (
	ViewMap ViewType = iota
	ViewReduce
)

// ViewLimits are what the options of a query are checked against.
type ViewLimits struct {
	// Partitioned reports whether the index is partitioned; for _all_docs, whether the database is.
	Partitioned bool
	// QueryLimit and PartitionQueryLimit are query_server_config/query_limit and partition_query_limit; 0 is infinity.
	QueryLimit          int64
	PartitionQueryLimit int64
}

// CheckAllDocs checks the options of _all_docs and its relatives, _all_dbs and _dbs_info, in CouchDB's order
// (couch_mrview_util:validate_all_docs_args), and fills in GroupLevel and an absent Limit.
func (o *ViewOptions) CheckAllDocs(limits ViewLimits) error {
	if err := o.check(ViewMap); err != nil {
		return err
	}
	if o.Partition != nil && !limits.Partitioned {
		return NewError(KindQueryParse, "`partition` parameter is not supported on this db")
	}
	return o.checkLimit(limits, o.Partition != nil)
}

// CheckView checks the options of a view in CouchDB's order (couch_mrview_util:validate_args/3), and fills in
// GroupLevel and an absent Limit. A view with a reduce function is a ViewMap when Reduce is No.
func (o *ViewOptions) CheckView(t ViewType, limits ViewLimits) error {
	if err := o.checkLimit(limits, limits.Partitioned); err != nil {
		return err
	}
	if err := o.check(t); err != nil {
		return err
	}
	switch {
	case limits.Partitioned && o.Partition == nil:
		return NewError(KindQueryParse, "`partition` parameter is mandatory for queries to this view.")
	case !limits.Partitioned && o.Partition != nil:
		return NewError(KindQueryParse, "`partition` parameter is not supported in this design doc")
	}
	return nil
}

func (o *ViewOptions) checkLimit(limits ViewLimits, partitioned bool) error {
	limit := limits.QueryLimit
	if partitioned {
		limit = limits.PartitionQueryLimit
	}
	if limit <= 0 {
		limit = MaxViewLimit
	}
	if o.Limit == MaxViewLimit {
		o.Limit = limit
	}
	if o.Limit > limit {
		return NewError(KindQueryParse, "Limit is too large, must not exceed "+strconv.FormatInt(limit, 10))
	}
	return nil
}

// check is couch_mrview_util:validate_args/1.
func (o *ViewOptions) check(t ViewType) error {
	if err := o.resolveGroup(); err != nil {
		return err
	}
	reason := ""
	switch {
	case t == ViewMap && o.Reduce == Yes:
		reason = "Reduce is invalid for map-only views."
	case t == ViewReduce && o.GroupLevel != GroupExact && o.Keys.Kind() == ejson.Array:
		reason = "Multi-key fetches for reduce views must use `group=true`"
	case o.Keys.Kind() != ejson.Array && o.Keys.Kind() != ejson.Invalid:
		reason = "`keys` must be an array of strings."
	case !o.keysFitRange():
		reason = "`keys` is incompatible with `key`, `start_key` and `end_key`"
	case t == ViewMap && o.GroupLevel != 0:
		reason = "Invalid use of grouping on a map view."
	case t == ViewReduce && o.IncludeDocs:
		reason = "`include_docs` is invalid for reduce"
	case t == ViewReduce && o.Conflicts != Unset:
		reason = "`conflicts` is invalid for reduce views."
	default:
		return nil
	}
	return NewError(KindQueryParse, reason)
}

func (o *ViewOptions) resolveGroup() error {
	switch {
	case o.groupLevel >= 0:
		if o.group == No && o.groupLevel > 0 {
			return NewError(KindQueryParse, "Can't specify group=false and group_level>0 at the same time")
		}
		o.GroupLevel = o.groupLevel
	case o.group == Yes:
		o.GroupLevel = GroupExact
	default:
		o.GroupLevel = 0
	}
	return nil
}

// keysFitRange reports whether `keys` may stand beside the key range: none, an empty list, a list without a range, or
// one element that is both ends of the range.
func (o *ViewOptions) keysFitRange() bool {
	if o.Keys.Len() == 0 || (o.StartKey.Kind() == ejson.Invalid && o.EndKey.Kind() == ejson.Invalid) {
		return true
	}
	if o.Keys.Len() > 1 {
		return false
	}
	for key := range o.Keys.Elements() {
		return sameTerm(key, o.StartKey) && sameTerm(key, o.EndKey)
	}
	return false
}

// sameTerm compares as Erlang's =:= does: 1 and 1.0 differ, and so do objects in another order.
func sameTerm(a, b ejson.Value) bool {
	if a.Kind() != b.Kind() || a.Kind() == ejson.Invalid {
		return a.Kind() == b.Kind()
	}
	return bytes.Equal(a.AppendTerm(nil), b.AppendTerm(nil))
}
