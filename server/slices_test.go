package server_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// The invariant of databases with access for each document: what a user sees is what a plain
// database shows that holds exactly the leaves whose lists name the user. Random users write,
// delete, replicate, purge and change roles; after each step a user's answers are compared with those
// of a plain database that was filled with these leaves. Which list a leaf has is worked out here
// from the documents that were sent, not asked of the server.

var sliceSeed = flag.Uint64("slices", 0, "the seed of the histories of TestSlices, which then go on without end")

// sliceWorld has the users, the database and the model of a history.
type sliceWorld struct {
	t     *testing.T
	s     *servertest.Server
	rng   *rand.Rand
	roles map[string][]string
	lists map[string][]string // by id, a space and revision: the list of each leaf that there ever was
	lines map[string][]string // likewise: the revision and its ancestors
	local map[string]string   // by user and id: _local documents
	plain int                 // how many plain databases there were
	log   []string            // what was done, for a failure
}

var (
	sliceIDs   = []string{"a", "b", "c", "d", "e", "_design/x"}
	sliceLists = []string{
		`["%s"]`, `["role:sales"]`, `["role:it"]`, `["ann","bob"]`, `["_users"]`, `[]`, "", `["%s","role:it"]`, `["%s"]`,
	}
)

func newSliceWorld(t *testing.T, seed uint64) *sliceWorld {
	w := &sliceWorld{
		t: t, s: servertest.New(t), rng: rand.New(rand.NewPCG(seed, 1)),
		roles: map[string][]string{"ann": {"sales"}, "bob": {"sales", "it"}, "eve": {}, "": nil},
		lists: map[string][]string{}, lines: map[string][]string{}, local: map[string]string{},
	}
	w.s.Set("chttpd_auth", "iterations", "1")
	w.s.Set("chttpd_auth", "secret", "a secret")
	expect201(t, w.s.Do("PUT", "/_users", ""))
	expect201(t, w.s.Do("PUT", "/db?access=true", ""))
	security := `{"admins":{"names":["boss"]},"members":{"roles":["_users"]}}`
	require.Equal(t, 200, w.s.Do("PUT", "/db/_security", security).Code)
	for name := range w.roles {
		if name != "" {
			w.putUser(name)
		}
	}
	return w
}

func (w *sliceWorld) putUser(name string) {
	roles, _ := json.Marshal(w.roles[name])
	id := "/_users/org.couchdb.user:" + name
	body := fmt.Sprintf(`{"name":%q,"type":"user","roles":%s,"password":"p"}`, name, roles)
	if old := w.s.Do("GET", id, ""); old.Code == 200 {
		id += "?rev=" + strings.Trim(servertest.ETag(old), `"`)
	}
	expect201(w.t, w.s.Do("PUT", id, body))
}

// do makes a request of a user, "admin" or "" for nobody.
func (w *sliceWorld) do(user, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	if user == "" {
		headers = append(headers, "Authorization", "")
	} else if user != "admin" {
		headers = append(headers, servertest.As(user)...)
	}
	return w.s.Do(method, target, body, append(headers, "Accept", "application/json")...)
}

// sees reports whether a list means a user.
func (w *sliceWorld) sees(user string, list []string) bool {
	return user != "" && slices.ContainsFunc(list, func(entry string) bool {
		role, isRole := strings.CutPrefix(entry, "role:")
		return entry == user || entry == "_users" || isRole && slices.Contains(w.roles[user], role)
	})
}

// sliceLeaf is a leaf as an administrator reads it.
type sliceLeaf struct {
	rev     string
	deleted bool
	line    []string // the revision and its ancestors
	text    json.RawMessage
	list    []string // of the body
	given   bool
}

// leaves are those of a document.
func (w *sliceWorld) leaves(id string) (leaves []sliceLeaf) {
	answer := w.do("admin", "GET", "/db/"+id+"?open_revs=all&revs=true&attachments=true", "")
	if answer.Code != 200 {
		return nil
	}
	var rows []struct{ OK json.RawMessage }
	require.NoError(w.t, json.Unmarshal(answer.Body.Bytes(), &rows))
	for _, row := range rows {
		var doc struct {
			Rev       string    `json:"_rev"`
			Deleted   bool      `json:"_deleted"`
			Access    *[]string `json:"_access"`
			Revisions struct {
				Start int
				IDs   []string
			} `json:"_revisions"`
		}
		require.NoError(w.t, json.Unmarshal(row.OK, &doc))
		leaf := sliceLeaf{rev: doc.Rev, deleted: doc.Deleted, text: row.OK, given: doc.Access != nil}
		if leaf.given {
			leaf.list = *doc.Access
		}
		for i, hash := range doc.Revisions.IDs {
			leaf.line = append(leaf.line, fmt.Sprint(doc.Revisions.Start-i, "-", hash))
		}
		leaves = append(leaves, leaf)
	}
	return leaves
}

func (w *sliceWorld) all() map[string][]sliceLeaf {
	all := map[string][]sliceLeaf{}
	for _, id := range sliceIDs {
		all[id] = w.leaves(id)
	}
	return all
}

// learn works out the lists of new leaves: those of their bodies; of tombstones without one that of
// the leaf before, or of all leaves that share the newest revision with it.
func (w *sliceWorld) learn(id string, before, after []sliceLeaf) {
	for _, leaf := range after {
		key := id + " " + leaf.rev
		w.lines[key] = leaf.line
		if slices.ContainsFunc(before, func(l sliceLeaf) bool { return l.rev == leaf.rev }) {
			continue
		}
		list := leaf.list
		if !leaf.given && leaf.deleted {
			list = nil
			for _, rev := range leaf.line {
				for _, old := range before {
					if old.rev == rev {
						list = w.lists[id+" "+rev]
						break
					}
					if slices.Contains(old.line, rev) {
						list = append(slices.Clone(list), w.lists[id+" "+old.rev]...)
					}
				}
				if list != nil {
					break
				}
			}
		}
		w.lists[key] = list
	}
}

// keeps holds a step of a user to what the user may change: no leaf that the user does not see is
// gone, the user sees each leaf that is new, and none is beside leaves of others alone.
func (w *sliceWorld) keeps(user, id string, before, after []sliceLeaf) {
	if user == "admin" {
		return
	}
	has := func(leaves []sliceLeaf, rev string) bool {
		return slices.ContainsFunc(leaves, func(l sliceLeaf) bool { return l.rev == rev })
	}
	seen := len(before) == 0
	for _, old := range before {
		visible := w.sees(user, w.lists[id+" "+old.rev])
		seen = seen || visible
		require.True(w.t, visible || has(after, old.rev), "%s replaced %s of %s\n%s", user, old.rev, id, w.story())
	}
	for _, leaf := range after {
		if !has(before, leaf.rev) {
			require.True(w.t, seen, "%s wrote %s of %s beside others\n%s", user, leaf.rev, id, w.story())
			require.True(w.t, w.sees(user, w.lists[id+" "+leaf.rev]), "%s does not see %s of %s\n%s",
				user, leaf.rev, id, w.story())
		}
	}
}

func (w *sliceWorld) story() string { return strings.Join(w.log, "\n") }

// pick is one of a list.
func pick[T any](w *sliceWorld, list []T) T { return list[w.rng.IntN(len(list))] }

// body is the members of a random document of a user, without braces.
func (w *sliceWorld) body(user string) string {
	list := pick(w, sliceLists)
	b := fmt.Sprintf(`"n":%d`, w.rng.IntN(6))
	if list != "" {
		b += `,"_access":` + strings.ReplaceAll(list, "%s", user)
	}
	if w.rng.IntN(6) == 0 {
		b += `,"_attachments":{"f":{"content_type":"text/plain","data":"YWJj"}}`
	}
	return b
}

// knownRevs are revisions that some leaf of a document has, in an order that a seed fixes.
func knownRevs(leaves []sliceLeaf) (revs []string) {
	for _, leaf := range leaves {
		revs = append(revs, leaf.line...)
	}
	slices.Sort(revs)
	return slices.Compact(revs)
}

// step does something, and holds what came of it to the rules.
func (w *sliceWorld) step() {
	user := pick(w, []string{"ann", "bob", "eve", "admin", "ann", "bob", "eve", "", "admin"})
	before := w.all()
	user = w.act(user, before)
	for id, after := range w.all() {
		w.learn(id, before[id], after)
		w.keeps(user, id, before[id], after)
	}
}

// act is a random request; it tells whose.
func (w *sliceWorld) act(user string, before map[string][]sliceLeaf) (actor string) {
	id := pick(w, sliceIDs)
	leaves := before[id]
	rev := "" // which may be one that the user does not know
	if len(leaves) > 0 && w.rng.IntN(4) > 0 {
		rev = pick(w, leaves).rev
	}
	member := ""
	if rev != "" {
		member = `,"_rev":"` + rev + `"`
	}
	hidden := len(leaves) > 0 && !slices.ContainsFunc(leaves, func(l sliceLeaf) bool {
		return w.sees(user, w.lists[id+" "+l.rev])
	})
	kind := w.rng.IntN(16)
	var method, target, body string
	var headers []string
	switch kind {
	case 0, 1, 2:
		method, target, body = "PUT", "/db/"+id, "{"+w.body(user)+member+"}"
	case 3:
		method, target = "DELETE", "/db/"+id+"?rev="+rev
	case 4, 5, 6, 7:
		method, target = "POST", "/db/_bulk_docs"
		body = `{"new_edits":false,"docs":[` + w.replicated(user, id, leaves) + `]}`
	case 8:
		method, target = "PATCH", "/db/"+id
		body = `{"p":` + fmt.Sprint(w.rng.IntN(9)) + `}`
	case 9:
		method, target, body = "POST", "/db/_bulk_docs", `{"docs":[{"_id":"`+id+`",`+w.body(user)+member+`}]}`
	case 10:
		method, target = "POST", "/db/_bulk_docs"
		body = `{"atomic":true,"docs":[{"_id":"` + id + `",` + w.body(user) + member + `}]}`
	case 11:
		w.writeLocal(user)
		return user
	case 12:
		w.administer(id, leaves)
		return "admin"
	case 13:
		method, target = "PUT", "/db/"+id+"/g?rev="+rev
		body = "text"
	case 14:
		method, target = "COPY", "/db/"+id
		headers = []string{"Destination", pick(w, sliceIDs)}
	default:
		method, target, body = "POST", "/db", `{"_id":"`+id+`",`+w.body(user)+member+`}`
	}
	answer := w.do(user, method, target, body, headers...)
	w.log = append(w.log, fmt.Sprintf("%s: %s %s %s %v -> %d %s",
		user, method, target, body, headers, answer.Code, answer.Body))
	if hidden && user != "admin" && user != "" && target != "/db/_bulk_docs" {
		refusals := []int{400, 403, 404}
		if kind == 13 { // as of a document that is not there
			refusals = append(refusals, 409)
		}
		require.Contains(w.t, refusals, answer.Code, w.story())
	}
	atomic := kind == 10
	if hidden && user != "admin" && target == "/db/_bulk_docs" && !atomic && answer.Code == 201 &&
		!strings.HasPrefix(id, "_") {
		rows := answer.Body.String()
		require.Contains(w.t, rows, `"forbidden","reason":"access"`, w.story())
	}
	return user
}

// replicated is a document with a line that begins at a stored revision, or nowhere.
func (w *sliceWorld) replicated(user, id string, leaves []sliceLeaf) string {
	var line []string
	if len(leaves) > 0 && w.rng.IntN(5) > 0 {
		line = pick(w, leaves).line
		if w.rng.IntN(2) == 0 {
			line = line[w.rng.IntN(len(line)):]
		}
	}
	start := 0
	if len(line) > 0 {
		fmt.Sscanf(line[0], "%d-", &start)
	}
	hashes := []string{}
	for _, rev := range line {
		_, hash, _ := strings.Cut(rev, "-")
		hashes = append(hashes, hash)
	}
	for range 1 + w.rng.IntN(2) {
		start++
		hashes = append([]string{fmt.Sprintf("%032x", w.rng.Uint64())}, hashes...)
	}
	ids, _ := json.Marshal(hashes)
	doc := fmt.Sprintf(`{"_id":%q,"_rev":"%d-%s","_revisions":{"start":%d,"ids":%s},`, id, start, hashes[0], start, ids)
	if w.rng.IntN(4) == 0 {
		doc += `"_deleted":true,`
		if w.rng.IntN(2) == 0 {
			return doc + `"x":1}`
		}
	}
	return doc + w.body(user) + "}"
}

// writeLocal writes a _local document, which is the user's alone.
func (w *sliceWorld) writeLocal(user string) {
	if user == "" {
		require.Equal(w.t, 401, w.do(user, "PUT", "/db/_local/l", `{"n":1}`).Code, w.story())
		return
	}
	body := fmt.Sprintf(`{"n":%d}`, w.rng.IntN(1000))
	answer := w.do(user, "PUT", "/db/_local/l", body)
	w.log = append(w.log, fmt.Sprintf("%s: PUT _local/l -> %d %s", user, answer.Code, answer.Body))
	if w.local[user] == "" {
		require.Equal(w.t, 201, answer.Code, w.story())
	}
	if answer.Code == 201 {
		w.local[user] = body[1 : len(body)-1]
	}
}

// administer is what administrators do: purge a leaf, change a role, or to whom users may give
// documents, compact.
func (w *sliceWorld) administer(id string, leaves []sliceLeaf) {
	switch w.rng.IntN(4) {
	case 0:
		if len(leaves) > 0 {
			body := fmt.Sprintf(`{%q:[%q]}`, id, pick(w, leaves).rev)
			require.Equal(w.t, 201, w.do("admin", "POST", "/db/_purge", body).Code)
			w.log = append(w.log, "purge "+body)
		}
	case 1:
		name := pick(w, []string{"ann", "bob", "eve"})
		w.roles[name] = pick(w, [][]string{{}, {"sales"}, {"it"}, {"sales", "it"}})
		w.putUser(name)
		w.log = append(w.log, fmt.Sprintf("%s has the roles %v", name, w.roles[name]))
	case 2:
		body := `{"share":"` + pick(w, []string{"self", "any"}) + `"}`
		require.Equal(w.t, 200, w.do("admin", "PUT", "/db/_access", body).Code)
		w.log = append(w.log, body)
	default:
		require.Equal(w.t, 202, w.do("admin", "POST", "/db/_compact", "{}").Code)
	}
}

// fill makes a plain database with the leaves that a user sees, in the order of the feed.
func (w *sliceWorld) fill(user string, all map[string][]sliceLeaf) string {
	w.plain++
	name := fmt.Sprint("/plain", w.plain)
	expect201(w.t, w.s.Do("PUT", name, ""))
	require.Equal(w.t, 200, w.s.Do("PUT", name+"/_security", "{}").Code)
	var feed struct{ Results []struct{ ID string } }
	require.NoError(w.t, json.Unmarshal(w.do("admin", "GET", "/db/_changes", "").Body.Bytes(), &feed))
	for _, row := range feed.Results {
		var docs []string
		for _, leaf := range all[row.ID] {
			if w.sees(user, w.lists[row.ID+" "+leaf.rev]) {
				docs = append(docs, string(leaf.text))
			}
		}
		if len(docs) > 0 {
			body := `{"new_edits":false,"docs":[` + strings.Join(docs, ",") + "]}"
			servertest.Expect(w.t, w.s.Do("POST", name+"/_bulk_docs", body), 201, "[]\n")
		}
	}
	return name
}

// shown is an answer without what is not the same in two databases: sequences, and what a feed tells
// of documents that are gone; with masked whether
// bodies of ancestors are there still, and numbers that are not told of a slice.
func shown(answer *httptest.ResponseRecorder, masked bool) string {
	var v any
	if err := json.Unmarshal(answer.Body.Bytes(), &v); err != nil {
		return fmt.Sprint(answer.Code, " ", answer.Body.String(), " ", servertest.ETag(answer))
	}
	hidden := []string{"seq", "last_seq", "dbname", "execution_time_ms"}
	if masked {
		hidden = append(hidden, "status", "pending", "offset", "total_rows")
	}
	var strip func(v any)
	strip = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				strip(e)
			}
		case map[string]any:
			if rows, ok := v["results"].([]any); ok {
				v["results"] = slices.DeleteFunc(rows, func(row any) bool {
					r, ok := row.(map[string]any)
					return ok && r["revoked"] == true
				})
			}
			for _, name := range hidden {
				delete(v, name)
			}
			for _, e := range v {
				strip(e)
			}
		}
	}
	strip(v)
	text, _ := json.Marshal(v)
	return fmt.Sprint(answer.Code, " ", string(text))
}

// sliceRequest is a question that is asked of both databases.
type sliceRequest struct {
	method, path, body string
	masked             bool
}

// questions are what a user asks about documents whose leaves and ancestors are known.
func (w *sliceWorld) questions(all map[string][]sliceLeaf) (list []sliceRequest) {
	get := func(path string) { list = append(list, sliceRequest{"GET", path, "", false}) }
	post := func(path, body string, masked bool) { list = append(list, sliceRequest{"POST", path, body, masked}) }
	quoted, _ := json.Marshal(append([]string{"nosuch"}, sliceIDs...))
	for query, masked := range map[string]bool{"": false, "?include_docs=true&conflicts=true": false,
		"?descending=true&limit=2&skip=1": false, "?startkey=%22b%22&endkey=%22d%22": true,
		"?keys=" + url.QueryEscape(string(quoted)): false, "?key=%22c%22&include_docs=true": true} {
		list = append(list, sliceRequest{"GET", "/_all_docs" + query, "", masked})
	}
	list = append(list, sliceRequest{"GET", "/_design_docs?include_docs=true", "", true})
	post("/_all_docs", `{"keys":`+string(quoted)+`,"include_docs":true}`, false)
	post("/_all_docs/queries", `{"queries":[{"limit":1},{"keys":["a","d"]}]}`, false)
	for _, query := range []string{"", "?style=all_docs", "?include_docs=true&conflicts=true",
		"?style=all_docs&include_docs=true&attachments=true", "?descending=true", "?limit=2", "?limit=1&style=all_docs",
		"?filter=_design", "?descending=true&limit=2&include_docs=true"} {
		get("/_changes" + query)
	}
	post("/_changes?filter=_doc_ids&style=all_docs", `{"doc_ids":["b","c","nosuch"]}`, true)
	post("/_changes?filter=_selector&include_docs=true", `{"selector":{"n":{"$gt":2}}}`, true)
	post("/_changes?filter=_selector&style=all_docs", `{"selector":{"n":{"$lt":4}}}`, true)
	var diff, bulk []string
	for _, id := range sliceIDs {
		path := "/" + id
		for _, query := range []string{"", "?conflicts=true&deleted_conflicts=true&revs=true", "?open_revs=all",
			"?open_revs=all&revs=true", "?attachments=true", "?fields=%5B%22n%22%5D"} {
			get(path + query)
		}
		list = append(list, sliceRequest{"HEAD", path, "", false},
			sliceRequest{"GET", path + "?revs_info=true", "", true}, sliceRequest{"GET", path + "/f", "", false},
			sliceRequest{"GET", path + "?rev=1-00&latest=true", "", false})
		leaves, _ := json.Marshal(leafRevs(all[id]))
		get(path + "?open_revs=" + url.QueryEscape(string(leaves)))
		known := knownRevs(all[id])
		revs, _ := json.Marshal(append(known, "9-nosuch"))
		get(path + "?latest=true&revs=true&open_revs=" + url.QueryEscape(string(revs)))
		for _, rev := range leafRevs(all[id]) {
			get(path + "?rev=" + rev)
			get(path + "/f?rev=" + rev)
		}
		diff = append(diff, fmt.Sprintf("%q:%s", id, revs))
		for _, rev := range known {
			bulk = append(bulk, fmt.Sprintf(`{"id":%q,"rev":%q}`, id, rev))
		}
		bulk = append(bulk, fmt.Sprintf(`{"id":%q}`, id))
	}
	post("/_revs_diff", "{"+strings.Join(diff, ",")+"}", false)
	post("/_missing_revs", "{"+strings.Join(diff, ",")+"}", false)
	for _, one := range append(bulk, strings.Join(bulk, ",")) {
		post("/_bulk_get?latest=true&revs=true", `{"docs":[`+one+"]}", false)
	}
	return list
}

// compare asks a user's questions of both databases.
func (w *sliceWorld) compare(user string) {
	all := w.all()
	plain := w.fill(user, all)
	told := strings.Contains(w.do(user, "GET", "/db/_changes", "").Body.String(), `"revoked":true`)
	for _, q := range w.questions(all) {
		if told && strings.HasPrefix(q.path, "/_changes") && strings.Contains(q.path, "limit=") {
			continue // rows of revocations count
		}
		want, got := w.do(user, q.method, plain+q.path, q.body), w.do(user, q.method, "/db"+q.path, q.body)
		if strings.Contains(q.path, "latest=true") && w.revocations(user, all, got.Body.String()) {
			continue
		}
		require.Equal(w.t, shown(want, q.masked), shown(got, q.masked), "%s: %s %s %s\n%s",
			user, q.method, q.path, q.body, w.story())
		if !strings.HasPrefix(q.path, "/_") {
			require.Equal(w.t, servertest.ETag(want), servertest.ETag(got), q.path)
		}
	}
	var here, there struct {
		Count   int `json:"doc_count"`
		Deleted int `json:"doc_del_count"`
	}
	require.NoError(w.t, json.Unmarshal(w.do(user, "GET", plain, "").Body.Bytes(), &there))
	require.NoError(w.t, json.Unmarshal(w.do(user, "GET", "/db", "").Body.Bytes(), &here))
	require.Equal(w.t, there, here, "%s counts\n%s", user, w.story())
	w.finds(user, plain)
	w.asked(user, all)
	w.ancestors(user, all)
	w.suffixes(user)
	w.locals(user)
	require.Equal(w.t, 200, w.s.Do("DELETE", plain, "").Code)
}

// ancestors: the body of a replaced revision is shown only if it named the user, as of a line whose
// leaf the user sees.
func (w *sliceWorld) ancestors(user string, all map[string][]sliceLeaf) {
	for id, leaves := range all {
		for _, rev := range knownRevs(leaves) {
			if slices.Contains(leafRevs(leaves), rev) {
				continue
			}
			answer := w.do(user, "GET", "/db/"+id+"?rev="+rev, "")
			if answer.Code == 404 {
				continue
			}
			require.Equal(w.t, 200, answer.Code, w.story())
			require.True(w.t, w.sees(user, w.lists[id+" "+rev]), "%s reads %s of %s\n%s", user, rev, id, w.story())
			require.True(w.t, slices.ContainsFunc(leaves, func(l sliceLeaf) bool {
				return slices.Contains(l.line, rev) && w.sees(user, w.lists[id+" "+l.rev])
			}), "%s reads %s of %s, of no line that %s sees\n%s", user, rev, id, user, w.story())
		}
	}
}

// locals: each user has their own _local documents, and lists no others.
func (w *sliceWorld) locals(user string) {
	answer := w.do(user, "GET", "/db/_local/l", "")
	list := w.do(user, "GET", "/db/_local_docs", "").Body.String()
	if w.local[user] == "" {
		require.Equal(w.t, 404, answer.Code, w.story())
		require.NotContains(w.t, list, "_local/l")
		return
	}
	require.Contains(w.t, answer.Body.String(), w.local[user], w.story())
	require.Contains(w.t, list, "_local/l")
}

// TestSlices: random histories; after each step one user's answers, at the end all users'.
func TestSlices(t *testing.T) {
	run := func(seed uint64) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newSliceWorld(t, seed)
			for range 14 {
				w.step()
				w.compare(pick(w, []string{"ann", "bob", "eve"}))
			}
			for _, user := range []string{"ann", "bob", "eve"} {
				w.compare(user)
			}
		})
	}
	if *sliceSeed > 0 {
		for seed := *sliceSeed; !t.Failed(); seed++ {
			run(seed)
		}
		return
	}
	histories := 60
	if testing.Short() {
		histories = 4
	}
	for seed := range histories {
		run(uint64(seed))
	}
}
