package server

import (
	"net/http"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
)

func getSecurity(c *Call) error {
	object, err := c.db.Security(c.Context())
	if err != nil {
		return err
	}
	if object == nil {
		object = []byte(compat.DefaultSecurity)
	}
	return c.JSON(http.StatusOK, object)
}

var (
	errUsersSecurity = compat.NewError(compat.KindForbidden, "You can't edit the security object of the user database.")
	errNotLimit      = compat.NewError(compat.KindBadRequest, "`purged_infos_limit` must be positive integer")
)

func putSecurity(c *Call) error {
	if c.db.Name() == c.set.auth.usersDB && !c.set.usersSecurity {
		return errUsersSecurity
	}
	v, err := c.JSONBody()
	if err != nil {
		return err
	}
	if err := c.requireDBAdmin(compat.ErrSecurity); err != nil {
		return err
	}
	if _, err := compat.ParseSecurity(v); err != nil {
		return compat.ErrSecurity
	}
	if err := c.db.SetSecurity(c.Context(), v.AppendJSON(nil)); err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}

// requireDBAdmin refuses members who are no admins with the given error: CouchDB finds out on the shards, and answers with
// what that looks like from outside.
func (c *Call) requireDBAdmin(refusal error) error {
	if c.user.IsAdmin() {
		return nil
	}
	rules, err := c.security()
	if err != nil {
		return err
	}
	if !rules.IsAdmin(c.user.Name, c.user.Roles) {
		return refusal
	}
	return nil
}

func getRevsLimit(c *Call) error {
	n, err := c.db.RevsLimit(c.Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, strconv.AppendInt(nil, n, 10))
}

func putRevsLimit(c *Call) error {
	v, err := c.JSONBody()
	if err != nil {
		return err
	}
	if err := c.requireDBAdmin(compat.NewError(compat.KindUnknown, "badmatch")); err != nil {
		return err
	}
	n, ok := v.Int()
	if !ok || n <= 0 {
		return compat.ErrFunctionClause
	}
	if err := c.db.SetRevsLimit(c.Context(), n); err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}

func getPurgedInfosLimit(c *Call) error {
	n, err := c.db.PurgedInfosLimit(c.Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, strconv.AppendInt(nil, n, 10))
}

func putPurgedInfosLimit(c *Call) error {
	v, err := c.JSONBody()
	if err != nil {
		return err
	}
	n, ok := v.Int()
	if !ok || n <= 0 {
		return errNotLimit
	}
	if err := c.db.SetPurgedInfosLimit(c.Context(), n); err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}

func getPurgedInfos(c *Call) error {
	infos, err := c.db.PurgedInfos(c.Context())
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

func postPurge(c *Call) error {
	v, err := c.JSONRequest()
	if err != nil {
		return err
	}
	c.srv.stats.add("couchdb.httpd.purge_requests", 1)
	requests, err := c.purgeRequests(v)
	if err != nil {
		return err
	}
	if err := c.requireIDPartitions(requests); err != nil {
		return err
	}
	purged, err := c.db.Purge(c.Context(), requests)
	if err != nil {
		return err
	}
	c.srv.stats.add("couchdb.document_purges.total", int64(len(requests)))
	status := http.StatusCreated
	if w, ok := c.query.First("w"); ok {
		if n, err := strconv.Atoi(w); err == nil && n > 1 {
			status = http.StatusAccepted
		}
	}
	b := append([]byte(nil), `{"purge_seq":null,"purged":{`...)
	for i, p := range purged {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(ejson.AppendString(b, p.ID), ':')
		b = compat.AppendRevs(b, p.Revs)
	}
	return c.JSON(status, append(b, "}}"...))
}

// purgeRequests reads {id: [revs]} within the limits of section purge.
func (c *Call) purgeRequests(v ejson.Value) ([]storage.IDRevs, error) {
	requests := make([]storage.IDRevs, 0, v.Len())
	total := int64(0)
	for id, list := range v.Members() {
		revs, err := compat.ParseRevs(list)
		if err != nil {
			return nil, err
		}
		r := storage.IDRevs{ID: id.Text(), Revs: revs}
		total += int64(len(r.Revs))
		requests = append(requests, r)
	}
	if int64(len(requests)) > c.set.maxPurgeIDs {
		return nil, compat.NewError(compat.KindBadRequest, "Exceeded maximum number of documents.")
	}
	if total > c.set.maxPurgeRevs {
		return nil, compat.NewError(compat.KindBadRequest, "Exceeded maximum number of revisions.")
	}
	return requests, nil
}
