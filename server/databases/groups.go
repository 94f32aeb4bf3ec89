package databases

import (
	"net/http"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/groups"
	"github.com/settee-db/settee/storage/kv"
)

// How many groups an answer of _groups lists.
const (
	usualGroups = 100
	mostGroups  = 1000
)

var errGroupsLimit = compat.NewError(compat.KindBadRequest,
	"`limit` must be a number from 1 to "+strconv.Itoa(mostGroups)+".")

// groupName is the group of a request.
func groupName(c *call.Call) (string, error) {
	if _, err := recordWithAccess(c); err != nil {
		return "", err
	}
	name := c.Segment(2)
	return name, groups.CheckName(name)
}

// getGroup answers GET /{db}/_group/{name}: {"_rev": "0-N", "members": [entry, …]}, what putGroup
// takes.
func getGroup(c *call.Call) error {
	name, err := groupName(c)
	if err != nil {
		return err
	}
	var group *groups.Group
	err = c.DB.ViewAgain(c.Context(), func(s *storage.Snapshot) (err error) {
		group, err = s.Groups().Get(s.KV(), name)
		return err
	})
	switch {
	case err != nil:
		return err
	case group == nil:
		return compat.ErrMissing
	}
	return c.JSON(http.StatusOK, group.AppendJSON(nil))
}

// putGroup answers PUT /{db}/_group/{name} with {"members": [entry, …]}, and the `_rev` of the group
// that it replaces.
func putGroup(c *call.Call) error {
	name, err := groupName(c)
	if err != nil {
		return err
	}
	v, err := c.JSONObject()
	if err != nil {
		return err
	}
	members, over, err := groups.Parse(name, v)
	if err != nil {
		return err
	}
	var group *groups.Group
	err = c.DB.Settings().ChangeGroups(c.Context(), func(tx kv.Tx, g groups.Groups) (err error) {
		group, err = g.Put(tx, name, members, over)
		return err
	})
	if err != nil {
		return err
	}
	return changedGroup(c, http.StatusCreated, name, group.Rev())
}

// deleteGroup answers DELETE /{db}/_group/{name}?rev=0-N.
func deleteGroup(c *call.Call) error {
	name, err := groupName(c)
	if err != nil {
		return err
	}
	over := int64(0) // the revision of no group
	if text, given := c.Query.Last("rev"); given {
		if over, err = groups.ParseRev(text); err != nil {
			return err
		}
	}
	err = c.DB.Settings().ChangeGroups(c.Context(), func(tx kv.Tx, g groups.Groups) error {
		return g.Delete(tx, name, over)
	})
	if err != nil {
		return err
	}
	return changedGroup(c, http.StatusOK, name, groups.RevOf(0))
}

func changedGroup(c *call.Call, status int, name string, rev compat.Rev) error {
	b := ejson.AppendString([]byte(`{"ok":true,"id":`), "_group/"+name)
	return c.JSON(status, append(rev.AppendJSON(append(b, `,"rev":`...)), '}'))
}

// getGroups answers GET /{db}/_groups?start=&limit=: {"groups": [{"name", "rev", "members"}, …]}, with
// the number of members; where there are more, "next" is the `start` of the next request.
func getGroups(c *call.Call) error {
	if _, err := recordWithAccess(c); err != nil {
		return err
	}
	start, _ := c.Query.Last("start")
	limit := usualGroups
	if text, given := c.Query.Last("limit"); given {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > mostGroups {
			return errGroupsLimit
		}
	}
	var list []*groups.Group
	err := c.DB.ViewAgain(c.Context(), func(s *storage.Snapshot) error {
		list = list[:0]
		return s.Groups().List(s.KV(), start, limit+1, func(g *groups.Group) error {
			list = append(list, g)
			return nil
		})
	})
	if err != nil {
		return err
	}
	b := []byte(`{"groups":[`)
	for i, g := range list[:min(limit, len(list))] {
		if i > 0 {
			b = append(b, ',')
		}
		b = ejson.AppendString(append(b, `{"name":`...), g.Name)
		b = g.Rev().AppendJSON(append(b, `,"rev":`...))
		b = append(strconv.AppendInt(append(b, `,"members":`...), int64(g.Count), 10), '}')
	}
	b = append(b, ']')
	if len(list) > limit {
		b = ejson.AppendString(append(b, `,"next":`...), list[limit].Name)
	}
	return c.JSON(http.StatusOK, append(b, '}'))
}
