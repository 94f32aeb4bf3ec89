package servertest

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// NewWithUsers is New with the users joe0, joe1, … of the role r, whose password is p, and a
// database db with the document doc, which everybody may use.
func NewWithUsers(t testing.TB, users int) *Server {
	t.Helper()
	s := New(t)
	s.PutUsers(users)
	return s
}

// PutUsers makes what NewWithUsers has.
func (s *Server) PutUsers(users int) {
	s.t.Helper()
	s.Set("chttpd_auth", "iterations", "1")
	s.Set("chttpd_auth", "secret", "a secret")
	require.Equal(s.t, 201, s.Do("PUT", "/_users", "").Code)
	require.Equal(s.t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(s.t, 200, s.Do("PUT", "/db/_security", "{}").Code)
	require.Equal(s.t, 201, s.Do("PUT", "/db/doc", `{"a":1}`).Code)
	for i := range users {
		name := fmt.Sprint("joe", i)
		user := `{"name":"` + name + `","type":"user","roles":["r"],"password":"p"}`
		require.Equal(s.t, 201, s.Do("PUT", "/_users/org.couchdb.user:"+name, user).Code)
	}
}

// NewWithOpenUsers is NewWithUsers with a users database that everybody may ask.
func NewWithOpenUsers(t testing.TB, users int) *Server {
	t.Helper()
	s := NewWithUsers(t, users)
	s.Set("couchdb", "users_db_security_editable", "true")
	require.Equal(t, 200, s.Do("PUT", "/_users/_security", "{}").Code)
	return s
}

// As is the header of a request of one of the users.
func As(name string) []string {
	return []string{"Authorization", Basic(name, "p")}
}

// Basic is the value of the header Authorization with a name and a password.
func Basic(name, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
}
