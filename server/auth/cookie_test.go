package auth

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/principal"
)

func TestSetCookie(t *testing.T) {
	now := time.Date(2026, 11, 21, 2, 32, 29, 0, time.UTC)
	o := CookieOptions{Timeout: 10 * time.Minute, Persistent: true}
	require.Equal(
		t,
		"AuthSession=v; Version=1; Expires=Sat, 21-Nov-2026 02:42:29 GMT; Max-Age=600; Path=/; HttpOnly",
		o.SetCookie("v", now),
	)
	o = CookieOptions{Domain: "d", SameSite: "LAX", Secure: true}
	require.Equal(t, "AuthSession=; Version=1; Secure; Domain=d; Path=/; HttpOnly; SameSite=Lax", o.SetCookie("", now))
}

func TestCookieValue(t *testing.T) {
	for header, want := range map[string]string{
		"AuthSession=x":                "x",
		`a=b; AuthSession="x"; c`:      "x",
		"authsession=x":                "",
		"":                             "",
		"XAuthSession=y;AuthSession=z": "z",
		"a=b,AuthSession=x":            "x",
	} {
		require.Equal(t, want, CookieValue([]string{header}), header)
	}
	require.Equal(t, "x", CookieValue([]string{"a=b", "AuthSession=x", "AuthSession=y"}))
	require.Empty(t, CookieValue(nil))
}

func FuzzCookie(f *testing.F) {
	f.Add("AuthSession=" + principal.NewSession("name", "key", "sha", time.Unix(1, 0)))
	f.Add("AuthSession=!!!; x")
	f.Fuzz(func(t *testing.T, header string) {
		s, err := principal.ParseSession(CookieValue([]string{header}))
		if err != nil {
			return
		}
		if strings.Contains(s.Name, ":") {
			t.Fatal(s.Name)
		}
		if _, ok := s.Left("a key nobody knows", []string{"sha", "sha256"}, time.Hour, time.Unix(1, 0)); ok {
			t.Fatal("forged")
		}
	})
}
