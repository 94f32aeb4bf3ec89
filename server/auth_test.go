package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
)

func TestPasswordForms(t *testing.T) {
	hash, err := HashPassword("secret", 10)
	require.NoError(t, err)
	require.True(t, IsHashed(hash))
	require.Regexp(t, `^-pbkdf2:sha256-[0-9a-f]{64},[0-9a-f]{32},10$`, hash)
	for stored, ok := range map[string]bool{
		hash:     true,
		"secret": true,
		"-hashed-9aecc45d2a1d4d0a1d3bbf5a9b6d1c7c9fd8a2d2,x": false,
		"-pbkdf2-" + "zz" + ",salt,10":                       false,
		"-pbkdf2:md5-00,salt,10":                             false,
		"-pbkdf2:sha256-00":                                  false,
		"":                                                   false,
	} {
		require.Equal(t, ok, CheckPassword("secret", stored), stored)
	}
	// RFC 6070: PBKDF2 with HMAC-SHA1.
	require.True(t, CheckPassword("password", "-pbkdf2-0c60c80f961f0e71f3a9b524af6012062fe037a6,salt,1"))
	require.True(t, CheckPassword("password", "-pbkdf2:sha-0c60c80f961f0e71f3a9b524af6012062fe037a6,salt,1"))
}

func TestBasicCredentials(t *testing.T) {
	for header, want := range map[string]struct {
		name, password string
		ok             bool
		err            error
	}{
		"Basic YTpiOmM=":   {"a", "b:c", true, nil},
		"Basic  YTpiOmM= ": {"a", "b:c", true, nil},
		"basic YTpi":       {},
		"Basic YWI=":       {}, // no colon
		"Basic Xzpf":       {}, // _:_
		"Basic YTpi!":      {err: errBadBasic},
		"Basic YTpiOmM":    {err: errBadBasic}, // padding is needed
		"Bearer x":         {},
	} {
		name, password, ok, err := basicCredentials(header)
		require.Equal(t, want.err, err, header)
		require.Equal(t, want.ok, ok, header)
		require.Equal(t, want.name+want.password, name+password, header)
	}
}

func TestSystemAccess(t *testing.T) {
	for _, c := range []struct {
		db, second string
		want       Access
	}{
		{"db", "", Member}, {"_users", "x", Member}, {"_users", "_all_docs", ServerAdmin}, {"_replicator", "_changes", ServerAdmin},
		{"_dbs", "", ServerAdmin}, {"_nosuch", "", ServerAdmin}, {"a/_users", "_all_docs", Member},
	} {
		require.Equal(t, c.want, systemAccess(c.db, c.second, Member), c.db)
	}
}

func FuzzBasicCredentials(f *testing.F) {
	f.Add("Basic YTpi")
	f.Add("Basic ")
	f.Fuzz(func(t *testing.T, header string) {
		if _, _, ok, err := basicCredentials(header); ok && err != nil {
			t.Fatal("both")
		}
	})
}

func FuzzCheckPassword(f *testing.F) {
	f.Add("a", "-pbkdf2:sha256-00,b,1")
	f.Add("a", "-hashed-,")
	f.Fuzz(func(t *testing.T, password, stored string) {
		if len(stored) < 60 {
			CheckPassword(password, stored)
		}
	})
}

func BenchmarkVerifyCached(b *testing.B) {
	a, err := newAuthenticator()
	require.NoError(b, err)
	hash, err := HashPassword("password", 1000)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if !a.verify("password", hash) {
			b.Fatal(compat.KindUnauthorized)
		}
	}
}
