package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// TestGroups: who is in a group, by name, by a role or by another group, sees what names the group and
// may write it, from the next request on, and not longer than that; groups go along with archives.
func TestGroups(t *testing.T) {
	s := secretServer(t)
	do := func(user, method, target, body string) string {
		as := append(servertest.As(user), "Accept", "application/json")
		w := s.Do(method, "/db"+target, body, as...)
		return fmt.Sprint(w.Code, " ", w.Body.String())
	}
	admin := func(method, target, body string) string {
		w := s.Do(method, "/db"+target, body, "Accept", "application/json")
		return fmt.Sprint(w.Code, " ", w.Body.String())
	}
	require.Contains(t, admin("PUT", "/team", `{"_access":["group:team"],"n":1}`), "201 ")
	require.Contains(t, do("bob", "GET", "/team", ""), "404 ")
	made := admin("PUT", "/_group/team", `{"members":["bob"]}`)
	require.Equal(t, `201 {"ok":true,"id":"_group/team","rev":"0-1"}`+"\n", made)
	require.Contains(t, do("bob", "GET", "/team", ""), `"n":1`)
	require.Contains(t, do("bob", "GET", "/_all_docs", ""), `"id":"team"`)
	require.Contains(t, do("bob", "GET", "/_changes", ""), `"id":"team"`)
	require.Contains(t, do("bob", "POST", "/_find", `{"selector":{"n":1}}`), `"_id":"team"`)
	require.Contains(t, do("bob", "PUT", "/bobs", `{"_access":["group:team"]}`), "201 ")
	require.Contains(t, do("ann", "PUT", "/anns", `{"_access":["group:team"]}`), "403 ")
	require.Contains(t, do("ann", "GET", "/team", ""), "404 ")

	// Through a group that holds the first one in a circle, by a role.
	require.Contains(t, admin("PUT", "/_group/all", `{"members":["role:r","group:team"]}`), "201 ")
	require.Contains(t, admin("PUT", "/_group/team", `{"members":["group:all"]}`), "409 ")
	circle := admin("PUT", "/_group/team", `{"_rev":"0-1","members":["group:all"]}`)
	require.Contains(t, circle, `"rev":"0-2"`)
	require.Contains(t, do("ann", "GET", "/team", ""), `"n":1`)
	require.Equal(t, `200 {"groups":[{"name":"all","rev":"0-1","members":2}],"next":"team"}`+"\n",
		admin("GET", "/_groups?limit=1", ""))

	for _, wrong := range []string{
		`{"members":"ann"}`, `[]`, `{}`, `{"members":["_x"]}`, `{"members":[1]}`,
		`{"members":[],"_rev":"x"}`, `{`,
	} {
		require.Contains(t, admin("PUT", "/_group/x", wrong), "400 ", wrong)
	}
	require.Contains(t, admin("PUT", "/_group/x", `{"_rev":"0-3","members":[]}`), "409 ")
	require.Contains(t, admin("GET", "/_group/x", ""), "404 ")
	require.Contains(t, admin("DELETE", "/_group/team?rev=0-1", ""), "409 ")
	require.Contains(t, admin("GET", "/_groups?limit=0", ""), "400 ")
	require.Contains(t, do("ann", "GET", "/_groups", ""), "401 ")

	w := s.Do("GET", "/db/_backup", "")
	require.Equal(t, 200, w.Code)
	expect201(t, s.Do("PUT", "/copy?access=true", ""))
	archive := w.Body.String()
	restored := s.Do("POST", "/copy/_restore", archive)
	require.Less(t, restored.Code, 300, restored.Body)
	copied := s.Do("GET", "/copy/_group/team", "").Body.String()
	require.JSONEq(t, `{"_rev":"0-2","members":["group:all"]}`, copied)
	verified := s.Do("POST", "/copy/_restore?verify=true", archive)
	require.NotContains(t, verified.Body.String(), "_group/")
	require.Equal(t, 200, s.Do("DELETE", "/copy/_group/all?rev=0-1", "").Code)
	verified = s.Do("POST", "/copy/_restore?verify=true", archive)
	require.Contains(t, verified.Body.String(), "_group/all", "%d", verified.Code)
	expect201(t, s.Do("PUT", "/plain", ""))
	require.Equal(t, 404, s.Do("GET", "/plain/_groups", "").Code)
	plain := s.Do("PUT", "/plain/_group/a", `{"members":[]}`)
	require.Equal(t, 400, plain.Code)
	require.Contains(t, plain.Body.String(), "Only reserved document ids may start with underscore.")
	form := "application/x-www-form-urlencoded" // as curl -d says
	expect201(t, s.Do("PUT", "/copy/_group/form", `{"members":[]}`, "Content-Type", form))
	shared := s.Do("PUT", "/copy/_access", `{"share":"any"}`, "Content-Type", form)
	require.Equal(t, 200, shared.Code)
	cut := strings.Replace(archive, `"body":{"_rev":"0-2"`, `"body":{"_rev":"0-0"`, 1)
	require.Equal(t, 400, s.Do("POST", "/copy/_restore", cut).Code)

	deleted := admin("DELETE", "/_group/team?rev=0-2", "")
	require.Equal(t, `200 {"ok":true,"id":"_group/team","rev":"0-0"}`+"\n", deleted)
	require.Contains(t, do("ann", "GET", "/team", ""), "404 ")
	require.NotContains(t, do("bob", "GET", "/_all_docs", ""), `"id":"team"`)
}

// TestManyGroups: who is in more groups than count is refused, and told why; others are not.
func TestManyGroups(t *testing.T) {
	s := secretServer(t)
	for i := range 64 {
		expect201(t, s.Do("PUT", fmt.Sprintf("/db/_group/g%d", i), `{"members":["ann"]}`))
	}
	w := s.Do("GET", "/db/_all_docs", "", servertest.As("ann")...) // with the role r they are 65
	require.Equal(t, 403, w.Code)
	require.Contains(t, w.Body.String(), "too_many_groups")
	require.Equal(t, 200, s.Do("GET", "/db/_all_docs", "", servertest.As("bob")...).Code)
	require.Equal(t, 200, s.Do("GET", "/db/_all_docs", "").Code)
}
