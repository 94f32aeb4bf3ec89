package conformance

import (
	"bytes"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Verdict tells how an answer agrees with the recorded one.
type Verdict int

// The verdicts, best first.
const (
	Exact   Verdict = iota // status, headers and body bytes are equal
	JSON                   // status and JSON value are equal, other bytes or headers are not
	Differs                // anything else
)

func (v Verdict) String() string { return [...]string{"exact", "json", "differs"}[v] }

// comparedHeaders are the response headers that count, in lower case.
var comparedHeaders = setOf("content-type", "etag", "cache-control", "location", "content-encoding", "content-md5",
	"accept-ranges", "content-range", "www-authenticate", "allow", "access-control-allow-origin",
	"access-control-allow-credentials", "access-control-allow-methods", "access-control-allow-headers",
	"access-control-expose-headers", "access-control-max-age", "vary", "content-disposition", "content-security-policy",
	"set-cookie", "retry-after", "x-couch-id", "x-couch-update-newrev")

// mask replaces what is volatile by nature in a body.
type mask struct {
	// A volatile part of a body, and the text that replaces it before answers are compared.
	volatile *regexp.Regexp
	by       string
}

// masks is the list of what two runs of the same requests may answer differently: sequences, uuids,
// sizes, times, process ids, build ids. A scenario with more of that kind has masks of its own.
var masks = []mask{
	{
		regexp.MustCompile(
			`"(seq|last_seq|update_seq|since_seq|source_last_seq|start_last_seq|end_last_seq|recorded_seq|purge_seq|compacted_seq|through_seq)"\s*:\s*("[^"]*"|\d+)`,
		),
		`"${1}":"<seq>"`,
	},
	{
		regexp.MustCompile(
			`"(uuid|session_id|_replication_id|replication_id|request_id|instance_start_time)"\s*:\s*"[^"]*"`,
		),
		`"${1}":"<id>"`,
	},
	{regexp.MustCompile(`"(signature)"\s*:\s*"[0-9a-f]{32}"`), `"${1}":"<sig>"`},
	{regexp.MustCompile(`"(file|active|external|disk_size|data_size)"\s*:\s*\d+`), `"${1}":"<size>"`},
	{
		regexp.MustCompile(
			`"(start_time|end_time|last_updated|started_on|updated_on|_replication_state_time|_replication_start_time)"\s*:\s*("[^"]*"|\d+)`,
		),
		`"${1}":"<time>"`,
	},
	{regexp.MustCompile(`<0\.\d+\.\d+>`), `<pid>`},
	{regexp.MustCompile(`"git_sha"\s*:\s*"[^"]*"`), `"git_sha":"<sha>"`},
	{regexp.MustCompile(`,"settee":\{[^{}]*\}`), ``}, // a member that CouchDB has not
	{regexp.MustCompile(`"ref"\s*:\s*\d+`), `"ref":"<ref>"`},
	{regexp.MustCompile(`"execution_time_ms"\s*:\s*[\d.]+`), `"execution_time_ms":"<ms>"`},
	{regexp.MustCompile(`"bookmark"\s*:\s*"g[^"]*"`), `"bookmark":"<bookmark>"`},
}

var (
	boundaryParameter = regexp.MustCompile(`boundary="?([^";]+)"?`)
	// a revision or an attachment's digest
	stableETag    = regexp.MustCompile(`^"(\d+-[0-9a-f]{32}|[A-Za-z0-9+/]{22}==)"$`)
	sessionCookie = regexp.MustCompile(`AuthSession=[^;]+`)
	cookieExpiry  = regexp.MustCompile(`Expires=[^;]+`)
	revision      = regexp.MustCompile(`^\d+-[0-9a-f]{32}$`)
)

// minReplacedValue is the length from which on a saved value is distinctive enough to be replaced
// by its name.
const minReplacedValue = 12

// Normalize returns the answer to st with everything volatile replaced, so that answers of two
// servers can be compared.
func (r *Run) Normalize(answer *Answer, st *Step) (*Answer, error) {
	n := &Answer{Status: answer.Status, Headers: maps.Clone(answer.Headers), Body: answer.Body}
	if b := multipartBoundary(n.Headers["content-type"]); b != "" {
		n.Body = bytes.ReplaceAll(n.Body, []byte(b), []byte("<boundary>"))
		n.Headers["content-type"] = strings.ReplaceAll(n.Headers["content-type"], b, "<boundary>")
	}
	if c, ok := n.Headers["set-cookie"]; ok {
		c = cookieExpiry.ReplaceAllLiteralString(c, "Expires=<date>")
		n.Headers["set-cookie"] = sessionCookie.ReplaceAllLiteralString(c, "AuthSession=<cookie>")
	}
	if tag, ok := n.Headers["etag"]; ok && !stableETag.MatchString(tag) {
		n.Headers["etag"] = "<etag>"
	}
	for name, value := range n.Headers {
		n.Headers[name] = r.unfill(value)
	}
	if !utf8.Valid(n.Body) {
		return n, nil
	}
	text := string(n.Body)
	for _, m := range masks {
		text = m.volatile.ReplaceAllString(text, m.by)
	}
	for _, expr := range st.Mask {
		masked, err := replaceAll(expr, text, "<masked>")
		if err != nil {
			return nil, err
		}
		text = masked
	}
	n.Body = []byte(r.unfill(text))
	return n, nil
}

// multipartBoundary is the boundary in a Content-Type, "" if it has none: every answer has another
// one.
func multipartBoundary(contentType string) string {
	m := boundaryParameter.FindStringSubmatch(contentType)
	if m == nil || !strings.Contains(contentType, "multipart") {
		return ""
	}
	return m[1]
}

// unfill puts the names of this run's values in their place: first the database names and the host,
// then what steps saved. Revisions stay, since they are the same on every server.
func (r *Run) unfill(text string) string {
	const fixed = 4 // db, db2, db3, host
	for _, i := range []int{2, 1, 0, 3} {
		text = strings.ReplaceAll(text, r.vars[i].value, "$"+r.vars[i].name)
	}
	for _, node := range r.nodes { // they call themselves so where databases of theirs are endpoints
		text = strings.ReplaceAll(text, node, "$host")
	}
	for _, v := range r.vars[fixed:] {
		if utf8.RuneCountInString(v.value) >= minReplacedValue && !revision.MatchString(v.value) {
			text = strings.ReplaceAll(text, v.value, "$"+v.name)
		}
	}
	return text
}

// Judge compares a normalised answer to st with the wanted one.
func Judge(want, got *Answer, st *Step) Verdict {
	sameHeaders := maps.Equal(want.Headers, got.Headers)
	if want.Status == got.Status && sameHeaders && bytes.Equal(want.Body, got.Body) {
		return Exact
	}
	// The real server crashed on this input: any clear error is as good.
	if want.isCrash() && got.Status >= 400 && got.Status <= 500 {
		return JSON
	}
	if want.Status != got.Status || !want.isText() || !got.isText() {
		return Differs
	}
	if !sameJSON(want.Body, got.Body, st.Unordered) {
		return Differs
	}
	if st.Unordered && sameHeaders {
		return Exact
	}
	return JSON
}

// isCrash reports whether the answer is that of a handler that crashed.
func (a *Answer) isCrash() bool {
	return a.Status == http.StatusInternalServerError && bytes.Contains(a.Body, []byte(`"ref":`))
}

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
