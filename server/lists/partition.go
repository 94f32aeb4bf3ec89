package lists

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
)

var (
	errPartitionRequest = compat.NewError(compat.KindBadRequest, "invalid_partition_req")
	errNotPartitioned   = compat.NewError(compat.KindBadRequest, "database is not partitioned")
	errPartitionTwice   = compat.NewError(compat.KindBadRequest, "Conflicting value for `partition` in query string")
)

func partitionIncomplete(*call.Call) error { return errPartitionRequest }

// getPartition answers GET /{db}/_partition/{name}. A partition without documents exists as well,
// with counts of zero: names are not registered anywhere.
func getPartition(c *call.Call) error {
	name := c.Segment(2)
	if err := compat.ValidatePartition(name); err != nil {
		return err
	}
	db, err := c.DB.Info(c.Context())
	if err != nil {
		return err
	}
	if !db.Partitioned {
		return errNotPartitioned
	}
	info, err := c.DB.PartitionInfo(c.Context(), name)
	if err != nil {
		return err
	}
	b := ejson.AppendString([]byte(`{"db_name":`), db.Name)
	b = strconv.AppendInt(append(b, `,"sizes":{"active":`...), info.SizeActive, 10)
	b = strconv.AppendInt(append(b, `,"external":`...), info.SizeExternal, 10)
	b = ejson.AppendString(append(b, `},"partition":`...), name)
	b = strconv.AppendInt(append(b, `,"doc_count":`...), info.DocCount, 10)
	b = strconv.AppendInt(append(b, `,"doc_del_count":`...), info.DocDelCount, 10)
	return c.JSON(http.StatusOK, append(b, '}'))
}

// refusePartitionPost refuses POST as other methods are refused, but looks at the name first
// (chttpd_db:handle_partition_req).
func refusePartitionPost(c *call.Call) error {
	if name := c.Segment(2); name[0] == '_' {
		return compat.ValidatePartition(name)
	}
	return compat.MethodNotAllowed("GET")
}

// inPartition serves what may be asked of one partition as the same request on the database with
// ?partition=.
func inPartition(c *call.Call) error {
	info, err := c.DB.Info(c.Context())
	if err != nil {
		return err
	}
	if !info.Partitioned {
		return errNotPartitioned
	}
	name := c.Segment(2)
	if err := compat.ValidatePartition(name); err != nil {
		return err
	}
	if given, ok := c.Query.First("partition"); ok && given != name {
		return errPartitionTwice
	}
	rest := c.Segments[3:]
	switch rest[0] {
	case "_all_docs", "_find", "_explain", "_index", "_aggregate":
	case "_design":
		if len(rest) < 3 || rest[2] == "" || rest[2][0] != '_' {
			return compat.ErrMissing
		}
	default:
		return compat.ErrMissing
	}
	c.Segments = append([]string{c.Segments[0]}, rest...)
	c.Query = inOrder(append(compat.Query{{Name: "partition", Value: name}}, c.Query...))
	return c.RunRoute()
}

// inOrder sorts parameters by name and keeps the first of each: that is how CouchDB reads them
// below a partition (chttpd_db:handle_partition_req).
func inOrder(q compat.Query) compat.Query {
	slices.SortStableFunc(q, func(a, b compat.Param) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(q, func(a, b compat.Param) bool { return a.Name == b.Name })
}
