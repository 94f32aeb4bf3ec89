package documents_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// across sends a request to several databases; dbs is JSON.
func across(s *servertest.Server, dbs string, headers ...string) (status int, answer string) {
	w := s.Do("POST", "/_atomic", `{"dbs":`+dbs+`}`, headers...)
	return w.Code, strings.TrimSpace(w.Body.String())
}

// All documents of all databases are stored, or none.
func TestAtomicDatabases(t *testing.T) {
	s := servertest.NewWithUsers(t, 1)
	for _, name := range []string{"a", "b", "closed"} {
		require.Equal(t, 201, s.Do("PUT", "/"+name, "").Code)
	}
	require.Equal(t, 200, s.Do("PUT", "/a/_security", "{}").Code)
	require.Equal(t, 200, s.Do("PUT", "/b/_security", "{}").Code)
	joe := servertest.As("joe0")
	status, answer := across(s, `{"b":{"docs":[{"_id":"x","n":1},{"_id":"_local/l"}]},
		"a":{"docs":[{"_id":"x","n":1,"_attachments":{"f":{"data":"YWJj"}}}],"check":[{"id":"y","absent":true}]}}`, joe...)
	require.Equal(t, 201, status, answer)
	var stored struct {
		DBs map[string][]struct {
			OK  bool
			ID  string
			Rev string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &stored))
	// In the order of the request.
	require.True(t, strings.HasPrefix(answer, `{"dbs":{"b":[{"ok":true,"id":"x",`), answer)
	require.Equal(t, "_local/l", stored.DBs["b"][1].ID)
	require.Equal(t, "abc", s.Do("GET", "/a/x/f", "").Body.String())
	rev := stored.DBs["a"][0].Rev
	numbers := func() string {
		all := ""
		for _, name := range []string{"a", "b", "closed"} {
			all += s.Do("GET", "/"+name, "").Body.String() + s.Do("GET", "/"+name+"/_changes", "").Body.String()
		}
		return all
	}
	before := numbers()
	put := func(docs string) string { return `{"docs":` + docs + `}` }
	many := "[" + strings.Repeat(`{},`, 500) + `{}]`
	for _, c := range []struct {
		dbs    string
		status int
		answer string
	}{
		{`{"a":{"docs":[{"_id":"new"}]},"b":{"docs":[{"_id":"z"},{"_id":"x"}]}}`, 409,
			`{"error":"conflict","reason":"nothing was written: 1 of 3 documents was refused","dbs":{` +
				`"a":[{"id":"new","ok":false}],"b":[{"id":"z","ok":false},` +
				`{"id":"x","error":"conflict","reason":"Document update conflict."}]}}`},
		{`{"a":{"docs":[{"_id":"x"}]},"b":{"docs":[{"_id":"z"}]}}`, 409, `"b":[{"id":"z","ok":false}]`},
		{`{"a":{"check":[{"id":"x","absent":true}]},"b":{"docs":[{"_id":"z"}]}}`, 412,
			`nothing was written: the check of \"x\" in \"a\" failed`},
		{`{"a":{"docs":[{"_id":"z"}]},"b":{"docs":[{"_id":"x","_patch":[{"op":"test","path":"/n","value":2}]}]}}`, 409,
			`test 0 failed`},
		{`{"a":{"docs":[{"_id":"z"}]},"b":{"docs":[{"_id":"_design/d"}]}}`, 403, `"error":"forbidden"`},
		{`{"a":{"docs":[{"_id":"z"}]},"closed":{"docs":[{"_id":"z"}]}}`, 403, `You are not allowed to access this db.`},
		{`{"a":{"docs":[{"_id":"z"}]},"_dbs":{"docs":[{"_id":"z"}]}}`, 401, `You are not a server admin.`},
		{`{"a":{"docs":[{"_id":"z"}]},"none":{"docs":[{"_id":"z"}]}}`, 404, `Database does not exist.`},
		{`{"a":{"docs":[{"_id":"z"}]},"A b":{"docs":[{"_id":"z"}]}}`, 404, `Database does not exist.`},
		{`{"a":` + put(many) + `,"b":` + put(many) + `}`, 413, `"error":"too_large"`},
		{`{"a":{"docs":[{"_id":"z"}],"new_edits":false}}`, 400, "`dbs` must be"},
		{`{"a":{"docs":{}}}`, 400, "`dbs` must be"},
		{`{"a":[]}`, 400, "`dbs` must be"},
		{`{}`, 400, "`dbs` must be"},
		{`[]`, 400, "`dbs` must be"},
		{`{"a":{"docs":[{"_id":"z"}]},"b":{"docs":[{"_id":"_bad"}]}}`, 400, `illegal_docid`},
		{`{"a":{"docs":[{"_id":"z"}]},"b":{"check":[{"id":"x"}]}}`, 400, `invalid check`},
	} {
		status, answer := across(s, c.dbs, joe...)
		require.Equal(t, c.status, status, "%s: %s", c.dbs, answer)
		require.Contains(t, answer, c.answer)
		require.Equal(t, before, numbers(), c.dbs)
	}
	var dbs []string
	for i := range 101 {
		dbs = append(dbs, fmt.Sprintf(`"d%d":{}`, i))
	}
	status, answer = across(s, "{"+strings.Join(dbs, ",")+"}")
	require.Equal(t, 400, status, answer)

	// A request with a key is done once, and a check alone is one, too.
	for range 2 {
		status, answer = across(s, `{"a":{"docs":[{"_id":"x","_rev":"`+rev+`","n":2}]},"b":{"docs":[{"_id":"k"}]}}`,
			append(joe, "Idempotency-Key", "k")...)
		require.Equal(t, 201, status, answer)
	}
	status, answer = across(s, `{"a":{"check":[{"id":"x","absent":true}]}}`, append(joe, "Idempotency-Key", "k")...)
	require.Equal(t, 400, status, answer)
	status, answer = across(s, `{"a":{"check":[{"id":"none","absent":true}]}}`, joe...)
	require.Equal(t, 201, status, answer)
}

// Each database asks its own validation functions.
func TestAtomicDatabasesValidate(t *testing.T) {
	s := servertest.NewJS(t)
	s.PutDesign("v", `{"validate_doc_update":"function(n, o, u){ if (n.bad) throw {forbidden: u.db}; }"}`)
	require.Equal(t, 201, s.Do("PUT", "/free", "").Code)
	status, answer := across(s, `{"free":{"docs":[{"_id":"x","bad":1}]},"db":{"docs":[{"_id":"x","bad":1},{"_id":"y"}]}}`)
	require.Equal(t, 403, status, answer)
	require.JSONEq(t, `{"error":"forbidden","reason":"nothing was written: 1 of 3 documents was refused","dbs":{
		"free":[{"id":"x","ok":false}],"db":[{"id":"x","error":"forbidden","reason":"db"},{"id":"y","ok":false}]}}`, answer)
	require.Equal(t, 404, s.Do("GET", "/free/x", "").Code)
	status, answer = across(s, `{"free":{"docs":[{"_id":"x","bad":1}]},"db":{"docs":[{"_id":"x"}]}}`)
	require.Equal(t, 201, status, answer)
}

// TestBankOfSeveralDatabases: patches that take from an account of one database and give to one of
// another keep the sum, however many clients there are.
func TestBankOfSeveralDatabases(t *testing.T) {
	s := servertest.New(t)
	const databases, accounts, clients, moves = 3, 3, 6, 12
	for i := range databases {
		require.Equal(t, 201, s.Do("PUT", fmt.Sprint("/bank", i), "").Code)
		for a := range accounts {
			require.Equal(t, 201, s.Do("PUT", fmt.Sprintf("/bank%d/%d", i, a), `{"n":100}`).Code)
		}
	}
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(client), 3))
			for range moves {
				from, n := r.IntN(databases), r.IntN(20)
				to := (from + 1 + r.IntN(databases-1)) % databases
				add := func(db, n int) string {
					return fmt.Sprintf(`"bank%d":{"docs":[{"_id":"%d","_patch":[{"op":"increment","path":"/n","value":%d}]}]}`,
						db, r.IntN(accounts), n)
				}
				if status, answer := across(s, "{"+add(from, -n)+","+add(to, n)+"}"); status != 201 {
					t.Error(status, answer)
				}
			}
		})
	}
	wg.Wait()
	sum, gens := 0, 0
	for i := range databases {
		var list struct {
			Rows []struct {
				Doc struct {
					Rev string `json:"_rev"`
					N   int
				}
			}
		}
		answer := s.Do("GET", fmt.Sprintf("/bank%d/_all_docs?include_docs=true", i), "").Body.Bytes()
		require.NoError(t, json.Unmarshal(answer, &list))
		for _, row := range list.Rows {
			gen := 0
			_, err := fmt.Sscanf(row.Doc.Rev, "%d-", &gen)
			require.NoError(t, err)
			sum, gens = sum+row.Doc.N, gens+gen-1
		}
	}
	require.Equal(t, 100*databases*accounts, sum)
	require.LessOrEqual(t, gens, 2*clients*moves)
	require.Greater(t, gens, clients*moves)
}
