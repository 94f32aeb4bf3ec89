package compat

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/ejson"
)

func parseSecurity(t *testing.T, text string) (Security, error) {
	t.Helper()
	v, err := ejson.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return ParseSecurity(v)
}

func TestSecurityMembers(t *testing.T) {
	admin, user := []string{"_admin"}, []string{"staff"}
	for _, c := range []struct {
		text  string
		name  string
		roles []string
		want  error
	}{
		{`{}`, "", nil, nil},
		{`{"members":{"names":[],"roles":[]}}`, "", nil, nil},
		{DefaultSecurity, "", nil, KindUnauthorized},
		{DefaultSecurity, "bob", user, KindForbidden},
		{DefaultSecurity, "root", admin, nil},
		{`{"members":{"roles":["staff"]}}`, "bob", user, nil},
		{`{"members":{"names":["bob"]}}`, "bob", nil, nil},
		{`{"members":{"names":[""]}}`, "", nil, KindUnauthorized},
		{`{"admins":{"names":["bob"]},"members":{"names":["eve"]}}`, "bob", nil, nil},
		{`{"readers":{"names":["eve"]}}`, "bob", nil, KindForbidden},
		{`{"members":{},"readers":{"names":["eve"]}}`, "bob", nil, nil},
	} {
		s, err := parseSecurity(t, c.text)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		if err := s.CheckMember(c.name, c.roles); !errors.Is(err, c.want) {
			t.Errorf("%s %q: %v, want %v", c.text, c.name, err, c.want)
		}
	}
}

func TestSecurityRefused(t *testing.T) {
	for _, text := range []string{`{"admins":1}`, `{"members":{"names":"x"}}`, `{"readers":{"roles":[1]}}`} {
		if _, err := parseSecurity(t, text); err != ErrSecurity {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := parseSecurity(t, `[]`); err != ErrNotAnObject {
		t.Error(err)
	}
}

func FuzzSecurity(f *testing.F) {
	f.Add(DefaultSecurity, "joe", "a")
	f.Add(`{"readers":{"names":["joe"]},"admins":{"roles":[]}}`, "joe", "_admin")
	f.Add(`{"members":[]}`, "", "")
	f.Fuzz(func(t *testing.T, text, name, role string) {
		v, err := ejson.Parse([]byte(text))
		if err != nil {
			return
		}
		s, err := ParseSecurity(v)
		if err != nil {
			return
		}
		roles := []string{role}
		if s.IsAdmin(name, roles) && s.CheckMember(name, roles) != nil {
			t.Fatal("an admin who is no member")
		}
		if s.CheckMember("", []string{"_admin"}) != nil {
			t.Fatal("a server admin is refused")
		}
		if err := s.CheckMember("", nil); err == nil && s.CheckMember(name, roles) != nil {
			t.Fatal("open to nobody, but not to everybody")
		}
	})
}

// Lists of which each has all that the other has not are looked up, not compared pair by pair: that
// took minutes for each request.
func TestSecurityOfManyRoles(t *testing.T) {
	const n = 100_000
	object := []byte(`{"members":{"roles":["other"`)
	roles := make([]string, n)
	for i := range n {
		object = fmt.Appendf(object, `,"other-%d"`, i)
		roles[i] = fmt.Sprintf("mine-%d", i)
	}
	v, err := ejson.Parse(append(object, `]}}`...))
	require.NoError(t, err)
	s, err := ParseSecurity(v)
	require.NoError(t, err)
	require.ErrorIs(t, s.CheckMember("a", roles), KindForbidden)
	require.ErrorIs(t, s.CheckMember("", nil), KindUnauthorized)
	require.NoError(t, s.CheckMember("a", append(roles, "other-7")))
	require.False(t, s.IsAdmin("a", roles))
}
