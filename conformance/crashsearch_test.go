package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// crashSearch are the search indexes that the design documents of TestCrashViews have beside their
// views: of both kinds, with a word and a number of each document. The name is in the source, as in
// those of the views.
func crashSearch(name string) string {
	const (
		words    = `var t = \"all k\" + doc.k + \" n\" + doc.n + \" \" + doc._id;`
		clouseau = `index(\"default\", t); index(\"n\", doc.n);`
		nouveau  = `index(\"text\", \"default\", t); index(\"double\", \"n\", doc.n);`
		form     = `%q:{"text":{"index":"function (doc) { %s %s } // %s"}},`
	)
	return fmt.Sprintf(form, "indexes", words, clouseau, name) + fmt.Sprintf(form, "nouveau", words, nouveau, name)
}

// crashSearches are compared: totals and the first hits by number and id.
var crashSearches = []string{
	"_search/text?q=all&sort=[\"n\",\"_id<string>\"]&limit=200", "_search/text?q=n:[5+TO+30]+NOT+ktext&limit=0",
	"_search/text?q=%22n7+doc%22+OR+n8&limit=200&sort=\"_id<string>\"",
	"_nouveau/text?q=all&sort=[\"n\"]&limit=5000", "_nouveau/text?q=n:[5+TO+30]+AND+n*&sort=\"-n\"&limit=5000",
}

// searchAnswer is what an answer of either kind has of these: the total and the ids.
func (c *client) searchAnswer(path string) string {
	var answer struct {
		Rows  int                   `json:"total_rows"`
		Hits  int                   `json:"total_hits"`
		List  []struct{ ID string } `json:"rows"`
		Found []struct{ ID string } `json:"hits"`
	}
	escape := strings.NewReplacer(`"`, "%22", "[", "%5B", "]", "%5D", "<", "%3C", ">", "%3E")
	c.decode(c.want(http.StatusOK, c.do("GET", escape.Replace(path), "")), &answer)
	return fmt.Sprint(answer.Rows+answer.Hits, append(answer.List, answer.Found...))
}

// verifySearches compares the design documents' answers with those of one that is built now.
func verifySearches(t *testing.T, c *client, fresh string, designs []string) {
	t.Helper()
	path := "/" + crashViewDB + "/_design/"
	for _, query := range crashSearches {
		want := c.searchAnswer(path + fresh + "/" + query)
		for _, name := range designs {
			if got := c.searchAnswer(path + name + "/" + query); got != want {
				t.Errorf("%s/%s differs from a fresh build: %.300s instead of %.300s", name, query, got, want)
			}
		}
	}
}
