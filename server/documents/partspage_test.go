package documents_test

import (
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

var (
	word = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)
	hash = regexp.MustCompile(`-[0-9a-f]{32}`)

	namedRev, wholeRev = regexp.MustCompile(`\d+-REV`), regexp.MustCompile(`\d+-[0-9a-f]{32}`)
)

// TestPartsPage: the requests of docs/parts.md have the answers that stand below them; REV is for
// the hash of a revision, and … for what is left out.
func TestPartsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/parts.md")
	require.NoError(t, err)
	s := servertest.New(t)
	answer, revs := "", map[string]string{}
	section, requests := "", map[string]int{}
	for line := range strings.Lines(string(page)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.TrimSpace(title)
			requests[section] = 0
		}
		line, example := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		switch {
		case !example:
		case strings.HasPrefix(line, "curl "):
			requests[section]++
			answer = curl(t, s, line, revs)
		default:
			left := strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*")
			require.Regexp(t, "(?s)^"+left+"$", answer)
		}
	}
	require.GreaterOrEqual(t, requests["What a server has"], 2)
	delete(requests, "What a server has")
	for section, n := range requests {
		require.GreaterOrEqual(t, n, 3, section)
	}
}

// curl does what a line of the page says. revs are the revisions that stand for 1-REV and so on in
// it: the last ones of these numbers that an answer had.
func curl(t *testing.T, s *servertest.Server, line string, revs map[string]string) (answer string) {
	words := word.FindAllString(line, -1)[1:]
	for i := range words {
		words[i] = strings.Trim(words[i], `'"`)
	}
	method, target, body := "GET", "", ""
	var headers, query []string
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "-X":
			i++
			method = words[i]
		case "-H":
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			headers = append(headers, name, value)
		case "-G": // what is data else belongs to the query
			query = []string{}
		case "--data-urlencode":
			i++
			name, value, _ := strings.Cut(words[i], "=")
			query = append(query, name+"="+url.QueryEscape(value))
		case "-d":
			i++
			if body = words[i]; query != nil {
				query, body = append(query, body), ""
			}
		default:
			var ok bool
			target, ok = strings.CutPrefix(words[i], "$S")
			require.True(t, ok, line)
		}
	}
	if body != "" && !slices.Contains(headers, "Content-Type") { // as curl sends it
		headers = append(headers, "Content-Type", "application/x-www-form-urlencoded")
	}
	if query != nil {
		target += "?" + strings.Join(query, "&")
	}
	target = namedRev.ReplaceAllStringFunc(target, func(name string) string { return revs[name] })
	answer = strings.TrimSpace(s.Do(method, target, body, headers...).Body.String())
	for _, rev := range wholeRev.FindAllString(answer, -1) {
		revs[hash.ReplaceAllString(rev, "-REV")] = rev
	}
	return hash.ReplaceAllString(answer, "-REV")
}
