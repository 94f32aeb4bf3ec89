package databases

import (
	"math"
	"net/http"
	"slices"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
)

// getSecurity answers with CouchDB's default object where none was ever set.
func getSecurity(c *call.Call) error {
	object, err := c.DB.Settings().Security(c.Context())
	if err != nil {
		return err
	}
	if object == nil {
		object = []byte(compat.DefaultSecurity)
	}
	return c.JSON(http.StatusOK, slices.Clip(object)) // which others share
}

var (
	errUsersSecurity = compat.NewError(compat.KindForbidden, "You can't edit the security object of the user database.")
	errNotLimit      = compat.NewError(compat.KindBadRequest, "`purged_infos_limit` must be positive integer")
)

// putSecurity answers PUT /{db}/_security. The body is parsed before rights are checked, so bad
// JSON is answered with 400 even to those who may not write; that order is CouchDB's. The object is
// stored as it was sent, with the members that only an application knows.
func putSecurity(c *call.Call) error {
	if c.DB.Name() == c.Settings.Auth.UsersDB && !c.Settings.UsersSecurity {
		return errUsersSecurity
	}
	v, err := c.JSONBody()
	if err != nil {
		return err
	}
	if err := requireDBAdmin(c, compat.ErrSecurity); err != nil {
		return err
	}
	if _, err := compat.ParseSecurity(v); err != nil {
		return compat.ErrSecurity
	}
	if err := c.DB.Settings().SetSecurity(c.Context(), v.AppendJSON(nil)); err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}

// requireDBAdmin refuses members who are no admins with the given error: CouchDB finds out on the
// shards, and answers with what that looks like from outside.
func requireDBAdmin(c *call.Call, refusal error) error {
	if admin, err := c.Docs.Access().IsAdmin(c.Context()); admin || err != nil {
		return err
	}
	return refusal
}

// getRevsLimit is GET /{db}/_revs_limit, the bare number.
func getRevsLimit(c *call.Call) error {
	rec, err := c.DB.Settings().Record(c.Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, strconv.AppendInt(nil, rec.RevsLimit, 10))
}

// putRevsLimit answers PUT /{db}/_revs_limit. A caller without the right gets the 500 "badmatch"
// that CouchDB gives here, not 401; a body that is not a positive integer gets its
// "function_clause".
func putRevsLimit(c *call.Call) error {
	v, err := c.JSONBody()
	if err != nil {
		return err
	}
	if err := requireDBAdmin(c, compat.NewError(compat.KindUnknown, "badmatch")); err != nil {
		return err
	}
	n, ok := positiveInteger(v)
	if !ok {
		return compat.ErrFunctionClause
	}
	if err := c.DB.Settings().SetRevsLimit(c.Context(), n); err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}

// positiveInteger reads a limit. Integers in Erlang have no largest one; what is beyond 2^63-1
// counts as that, which nothing ever reaches.
func positiveInteger(v ejson.Value) (n int64, ok bool) {
	if n, ok := v.Int(); ok {
		return n, n > 0
	}
	return math.MaxInt64, v.Kind() == ejson.Int && v.Raw()[0] != '-'
}

// getPurgedInfosLimit and putPurgedInfosLimit say how many purge requests a compaction leaves.
func getPurgedInfosLimit(c *call.Call) error {
	rec, err := c.DB.Settings().Record(c.Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, strconv.AppendInt(nil, rec.PurgedInfosLimit, 10))
}

// putPurgedInfosLimit is PUT /db/_purged_infos_limit: how many purges the database remembers for
// requests that ask which there were. Anything but a positive number is refused, as CouchDB does.
func putPurgedInfosLimit(c *call.Call) error {
	v, err := c.JSONBody()
	if err != nil {
		return err
	}
	n, ok := positiveInteger(v)
	if !ok {
		return errNotLimit
	}
	if err := c.DB.Settings().SetPurgedInfosLimit(c.Context(), n); err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}

// getPurgedInfos lists the purge requests that are remembered.
func getPurgedInfos(c *call.Call) error {
	infos, err := c.DB.Purges().Remembered(c.Context())
	if err != nil {
		return err
	}
	b := append([]byte(nil), `{"purged_infos":[`...)
	for i, info := range infos {
		if i > 0 {
			b = append(b, ',')
		}
		b = ejson.AppendString(append(b, `{"id":`...), info.ID)
		b = append(compat.AppendRevs(append(b, `,"revs":`...), info.Revs), '}')
	}
	return c.JSON(http.StatusOK, append(b, "]}"...))
}
