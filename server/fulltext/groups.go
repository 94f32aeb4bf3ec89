package fulltext

import (
	"context"
	"net/http"
	"regexp"
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
	engine "github.com/settee-db/settee/search"
	"github.com/settee-db/settee/search/index"
	"github.com/settee-db/settee/server/call"
)

var groupField = regexp.MustCompile(`^([.\w]+)(?:<(\w+)>)?$`)

// groupRequest reads how hits are grouped.
func groupRequest(
	s *engine.Searcher, request *index.Request, o *searchOptions,
) (*index.GroupRequest, error) {
	m := groupField.FindStringSubmatch(*o.GroupBy)
	switch {
	case m == nil:
		return nil, badRequest("Unrecognized group_field parameter: " + *o.GroupBy)
	case m[2] == "number":
		return nil, badRequest("Group by number not supported. Group by string terms only.")
	case m[2] != "" && m[2] != "string":
		return nil, badRequest("Unrecognized type: " + m[2])
	}
	texts, err := sortTexts(o.GroupSort)
	if err != nil {
		return nil, err
	}
	q := &index.GroupRequest{Request: *request, Field: m[1], Groups: int(o.GroupLimit)}
	// Groups come in one page and without facets: what the request says of both is dropped.
	q.After, q.Counts, q.Ranges = nil, nil, nil
	q.GroupSort, err = s.ParseSort(texts)
	return q, err
}

// appendBy appends the value of a group.
func appendBy(b []byte, g *index.Group) []byte {
	if g.By.IsNull {
		return append(b, "null"...)
	}
	return ejson.AppendString(b, g.By.Text)
}

// writeGroups writes the groups of an answer: what they are grouped by, then what before appends,
// which ends with the name of the hits, the hits, and what behind appends.
func writeGroups(
	s *call.Stream, groups []index.Group, before func(b []byte, g *index.Group) []byte,
	hits func([]index.Hit) error, behind func(b []byte, g *index.Group) []byte,
) error {
	for i := range groups {
		g, b := &groups[i], s.Buffer()
		if i > 0 {
			b = append(b, ',')
		}
		b = before(appendBy(append(b, `{"by":`...), g), g)
		if err := s.Commit(append(b, '[')); err != nil {
			return err
		}
		if err := hits(g.Hits); err != nil {
			return err
		}
		if err := s.Commit(append(behind(append(s.Buffer(), ']'), g), '}')); err != nil {
			return err
		}
	}
	return nil
}

// groups answers a query whose hits are grouped (dreyfus_fabric_group1, dreyfus_fabric_group2):
// group_field in the new form, group_by in the old one.
func (a *searchAnswer) groups(ctx context.Context) error {
	q, err := groupRequest(a.s, &a.request, a.o)
	if err != nil {
		return err
	}
	result, err := a.s.Group(ctx, q)
	if err != nil {
		return err
	}
	// From here on the status is sent: a snapshot that becomes too old cannot begin the answer
	// anew.
	a.s.Begun, a.stream = true, a.c.Stream(http.StatusOK)
	total, rows := "total_rows", "rows"
	if a.o.OldGroups {
		total, rows = "total_hits", "hits"
	}
	name := func(b []byte, name string) []byte { return append(ejson.AppendString(b, name), ':') }
	b := strconv.AppendInt(name(append(a.stream.Buffer(), '{'), total), result.Total, 10)
	if a.o.OldGroups {
		b = strconv.AppendInt(append(b, `,"total_grouped_hits":`...), result.Grouped, 10)
	}
	if err := a.stream.Commit(append(b, `,"groups":[`...)); err != nil {
		return err
	}
	err = writeGroups(a.stream, result.Groups, func(b []byte, g *index.Group) []byte {
		b = strconv.AppendInt(name(append(b, ','), total), g.Total, 10)
		return name(append(b, ','), rows)
	}, func(hits []index.Hit) error { return a.hits(q.Sort, hits) }, func(b []byte, _ *index.Group) []byte { return b })
	if err != nil {
		return err
	}
	if _, err := a.stream.WriteString("]}\n"); err != nil {
		return err
	}
	return a.stream.Close()
}
