package queries

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/views"
	"github.com/settee-db/settee/views/viewquery"
)

func parseJSON(t require.TestingT, text []byte) ejson.Value {
	v, err := ejson.Parse(text)
	require.NoError(t, err)
	return v
}

// answerFrom is a model of a query: the rows from the start on, of which skip are left out, at most
// limit.
func answerFrom(t require.TestingT, all []views.Row, q *viewquery.Query) []views.Row {
	var out []views.Row
	skip := q.Skip
	for _, r := range all {
		if q.StartKey.Kind() != ejson.Invalid {
			c := collate.Compare(parseJSON(t, r.Key), q.StartKey)
			if c == 0 && q.StartDocID != nil {
				c = cmp.Compare(string(r.ID), *q.StartDocID)
			}
			if q.Descending {
				c = -c
			}
			if c < 0 {
				continue
			}
		}
		if skip > 0 {
			skip--
			continue
		}
		if int64(len(out)) == q.Limit {
			break
		}
		out = append(out, r)
	}
	return out
}

// pages reads everything page by page.
func pages(t require.TestingT, all []views.Row, query string, reduced bool) []views.Row {
	var out []views.Row
	bookmark := ""
	for range 2*len(all) + 3 {
		o, err := params.ParseView(compat.ParseQuery(query+"&bookmark="+bookmark), ejson.Value{})
		require.NoError(t, err)
		require.NoError(t, o.CheckView(reduced, params.Limits{}))
		p, err := openPage(*o.Bookmark, &o.Query, reduced)
		require.NoError(t, err)
		for _, r := range answerFrom(t, all, &o.Query) {
			if p.takes(&r) {
				out = append(out, r)
			}
		}
		text := p.appendBookmark(nil)
		if string(text) == "null" {
			return out
		}
		require.NoError(t, json.Unmarshal(text, &bookmark))
	}
	t.Errorf("the pages do not end")
	return nil
}

func TestBookmarksReachEveryRowOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom([]string{`1`, `2`, `"a"`, `"a\u0001"`, `"b"`, `["a",1]`, `["a",2]`, `{"x":1}`, `null`})
		var rows []views.Row
		for range rapid.IntRange(0, 30).Draw(t, "rows") {
			rows = append(
				rows,
				views.Row{
					Key:   []byte(key.Draw(t, "key")),
					ID:    []byte(rapid.SampledFrom([]string{"d1", "d2", "é"}).Draw(t, "id")),
					Value: []byte(strconv.Itoa(len(rows))),
				},
			)
		}
		descending := rapid.Bool().Draw(t, "descending")
		slices.SortStableFunc(rows, func(a, b views.Row) int {
			c := collate.Compare(parseJSON(t, a.Key), parseJSON(t, b.Key))
			if c == 0 {
				c = cmp.Compare(string(a.ID), string(b.ID))
			}
			if descending {
				c = -c
			}
			return c
		})
		limit := rapid.IntRange(1, 8).Draw(t, "limit")
		skip := rapid.IntRange(0, 3).Draw(t, "skip")
		query := "limit=" + strconv.Itoa(
			limit,
		) + "&skip=" + strconv.Itoa(
			skip,
		) + "&descending=" + strconv.FormatBool(
			descending,
		)
		require.Equal(t, len(rows[min(skip, len(rows)):]), len(pages(t, rows, query, false)))
		require.ElementsMatch(t, rows[min(skip, len(rows)):], pages(t, rows, query, false))

		groups := slices.CompactFunc(slices.Clone(rows), func(a, b views.Row) bool { return sameKey(a.Key, b.Key) })
		for i := range groups {
			groups[i].ID = nil
		}
		for _, level := range []string{"&group=true", "&group_level=9"} {
			require.Equal(
				t,
				len(groups[min(skip, len(groups)):]),
				len(pages(t, groups, query+level, true)),
				level,
			)
		}
	})
}

func TestBookmarkGoesOnBehindDeletedRows(t *testing.T) {
	rows := []views.Row{
		{Key: []byte("1"), ID: []byte("a")},
		{Key: []byte("2"), ID: []byte("b")},
		{Key: []byte("2"), ID: []byte("c")},
		{Key: []byte("3"), ID: []byte("d")},
	}
	q := &viewquery.Query{Limit: 2}
	p, err := openPage("", q, false)
	require.NoError(t, err)
	require.True(t, p.takes(&rows[0]))
	require.True(t, p.takes(&rows[1]))
	var next string
	require.NoError(t, json.Unmarshal(p.appendBookmark(nil), &next))

	q = &viewquery.Query{Limit: 2, ExclusiveEnd: true}
	p, err = openPage(next, q, false)
	require.NoError(t, err)
	var ids []string
	for _, r := range answerFrom(t, []views.Row{rows[0], rows[2], rows[3]}, q) {
		if p.takes(&r) {
			ids = append(ids, string(r.ID))
		}
	}
	require.Equal(t, []string{"c", "d"}, ids)
}

func TestBadBookmarks(t *testing.T) {
	for _, text := range []string{"x", "!", "W10", "WzAsMSwiYSJd", "WzEsMSwyXQ"} {
		_, err := openPage(text, &viewquery.Query{}, false)
		require.ErrorIs(t, err, errBadBookmark, text)
	}
	_, err := openPage("", &viewquery.Query{Keys: parseJSON(t, []byte("[1,2]"))}, false)
	require.ErrorIs(t, err, compat.KindQueryParse)
}

func FuzzBookmark(f *testing.F) {
	f.Add("WzEsMSwiYSJd", uint8(0))
	f.Add("WzVd", uint8(2))
	f.Fuzz(func(_ *testing.T, text string, level uint8) {
		for _, reduced := range []bool{false, true} {
			q := &viewquery.Query{GroupLevel: int64(level), Limit: 3}
			if p, err := openPage(text, q, reduced); err == nil {
				p.takes(&views.Row{Key: []byte("1"), ID: []byte("a")})
				p.appendBookmark(nil)
			}
		}
	})
}
