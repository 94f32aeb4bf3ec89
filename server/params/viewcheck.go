package params

import (
	"bytes"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/views/viewquery"
)

// Limits are what the options of a query are checked against.
type Limits struct {
	// Partitioned reports whether the index is partitioned; for _all_docs, whether the database is.
	Partitioned bool
	// QueryLimit and PartitionQueryLimit are query_server_config/query_limit and
	// partition_query_limit; 0 is infinity.
	QueryLimit          int64
	PartitionQueryLimit int64
}

// List checks the options of _all_docs and its relatives, _all_dbs and _dbs_info, in CouchDB's
// order (couch_mrview_util:validate_all_docs_args), and gives the list that they ask for.
func (o *ViewOptions) List(limits Limits) (*documents.ListOptions, error) {
	if err := o.check(false); err != nil {
		return nil, err
	}
	if o.Partition != "" && !limits.Partitioned {
		return nil, compat.NewError(compat.KindQueryParse, "`partition` parameter is not supported on this db")
	}
	if err := o.checkLimit(limits, o.Partition != ""); err != nil {
		return nil, err
	}
	return &documents.ListOptions{
		Range: o.IDRange(), Keys: o.Keys, InPartition: o.Partition != "",
		Attachments: o.Attachments, AttEncodingInfo: o.AttEncodingInfo,
	}, nil
}

// CheckView checks the options of a view in CouchDB's order (couch_mrview_util:validate_args/3),
// and fills in GroupLevel and an absent Limit.
func (o *ViewOptions) CheckView(hasReduce bool, limits Limits) error {
	if err := o.checkLimit(limits, limits.Partitioned); err != nil {
		return err
	}
	if err := o.check(hasReduce && o.Reduce); err != nil {
		return err
	}
	switch {
	case limits.Partitioned && o.Partition == "":
		return compat.NewError(compat.KindQueryParse, "`partition` parameter is mandatory for queries to this view.")
	case !limits.Partitioned && o.Partition != "":
		return compat.NewError(compat.KindQueryParse, "`partition` parameter is not supported in this design doc")
	}
	return nil
}

// CheckUnreduced checks the options of a list that has no use for reduce and takes any value of it
// (couch_replicator_httpd:handle_scheduler_docs).
func (o *ViewOptions) CheckUnreduced() error {
	o.reduce = no
	return o.check(false)
}

// checkLimit holds a query to [query_server_config] query_limit, or partition_query_limit in a
// partition. A query without a limit gets the largest one; only a limit that was asked for can be
// refused (couch_mrview_util:apply_limit).
func (o *ViewOptions) checkLimit(limits Limits, partitioned bool) error {
	limit := limits.QueryLimit
	if partitioned {
		limit = limits.PartitionQueryLimit
	}
	if limit <= 0 {
		limit = MaxLimit
	}
	if o.Limit == MaxLimit {
		o.Limit = limit
	}
	if o.Limit > limit {
		reason := "Limit is too large, must not exceed " + strconv.FormatInt(limit, 10)
		return compat.NewError(compat.KindQueryParse, reason)
	}
	return nil
}

// check is couch_mrview_util:validate_args/1.
func (o *ViewOptions) check(reduced bool) error {
	if err := o.resolveGroup(); err != nil {
		return err
	}
	reason := ""
	switch {
	case !reduced && o.reduce == yes:
		reason = "Reduce is invalid for map-only views."
	case reduced && o.GroupLevel != viewquery.GroupExact && o.Keys.Kind() == ejson.Array:
		reason = "Multi-key fetches for reduce views must use `group=true`"
	case o.Keys.Kind() != ejson.Array && o.Keys.Kind() != ejson.Invalid:
		reason = "`keys` must be an array of strings."
	case !o.keysFitRange():
		reason = "`keys` is incompatible with `key`, `start_key` and `end_key`"
	case !reduced && o.GroupLevel != 0:
		reason = "Invalid use of grouping on a map view."
	case reduced && o.IncludeDocs:
		reason = "`include_docs` is invalid for reduce"
	case reduced && o.conflicts != unset:
		reason = "`conflicts` is invalid for reduce views."
	default:
		return nil
	}
	return compat.NewError(compat.KindQueryParse, reason)
}

var errGroups = compat.NewError(
	compat.KindQueryParse, "Can't specify group=false and group_level>0 at the same time",
)

// resolveGroup reads group and group_level together: a level goes before group=true.
func (o *ViewOptions) resolveGroup() error {
	switch {
	case o.groupLevel >= 0:
		if o.group == no && o.groupLevel > 0 {
			return errGroups
		}
		o.GroupLevel = o.groupLevel
	case o.group == yes:
		o.GroupLevel = viewquery.GroupExact
	default:
		o.GroupLevel = 0
	}
	return nil
}

// keysFitRange reports whether `keys` may stand beside the key range: none, an empty list, a list
// without a range, or one element that is both ends of the range.
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
