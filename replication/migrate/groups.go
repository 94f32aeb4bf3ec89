package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/settee-db/settee/replication/site"
)

// listedGroup is a row of GET /db/_groups.
type listedGroup struct{ Name, Rev string }

// listGroups are the groups of a database in the order of their names; none at a server, or of a
// database, that has no groups, or to a user who may not see them.
func listGroups(ctx context.Context, s *site.Site, path string) (all []listedGroup, err error) {
	for start := ""; ; {
		var page struct {
			Groups []listedGroup
			Next   string
		}
		err := s.GetJSON(ctx, path+"/_groups?limit=1000&start="+url.QueryEscape(start), &page)
		if _, answered := errors.AsType[*site.Error](err); answered && start == "" {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if all = append(all, page.Groups...); page.Next == "" {
			return all, nil
		}
		start = page.Next
	}
}

// copyGroups makes the groups of the target those of the source. One that this run has sent is
// written again only after it has changed at the source; one that the source has no more is deleted,
// since it would go on to give rights.
func (d *database) copyGroups(ctx context.Context, path string) error {
	from, err := listGroups(ctx, d.m.o.Source, path)
	if err != nil {
		return err
	}
	if len(from) == 0 && !d.groups {
		return nil
	}
	d.groups = true
	to, err := listGroups(ctx, d.m.o.Target, path)
	if err != nil {
		return err
	}
	revs := make(map[string]string, len(to))
	for _, g := range to {
		revs[g.Name] = g.Rev
	}
	for _, g := range from {
		at := path + "/_group/" + url.PathEscape(g.Name)
		rev, there := revs[g.Name]
		delete(revs, g.Name)
		if there && d.sent[at] == g.Rev {
			continue
		}
		if err := d.copyGroup(ctx, at, rev); err != nil {
			return err
		}
		d.sent[at] = g.Rev
	}
	for name, rev := range revs {
		at := path + "/_group/" + url.PathEscape(name)
		if err := d.m.o.Target.Send(ctx, http.MethodDelete, at+"?rev="+rev, nil); err != nil {
			return err
		}
		delete(d.sent, at)
	}
	return nil
}

// copyGroup copies one group over the revision that the target has, "" for none.
func (d *database) copyGroup(ctx context.Context, at, over string) error {
	var group struct {
		Rev     string   `json:"_rev,omitempty"`
		Members []string `json:"members"`
	}
	if err := d.m.o.Source.GetJSON(ctx, at, &group); err != nil {
		if e, ok := errors.AsType[*site.Error](err); ok && e.Status == http.StatusNotFound {
			return nil // deleted meanwhile: the next round sees it
		}
		return err
	}
	group.Rev = over
	body, err := json.Marshal(group)
	if err != nil {
		return err
	}
	return d.m.o.Target.Send(ctx, http.MethodPut, at, bytes.NewReader(body))
}
