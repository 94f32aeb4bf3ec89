package principal

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSession(t *testing.T) {
	begin := time.Unix(0x6B0102BD, 0)
	value := NewSession("jö:hn", "secretsalt", "sha256", begin)
	_, err := ParseSession(value + "=")
	require.Equal(t, error(ErrMalformedCookie), err)
	value = NewSession("jöhn", "secretsalt", "sha256", begin)
	s, err := ParseSession(value)
	require.NoError(t, err)
	require.Equal(t, "jöhn", s.Name)
	const timeout = 10 * time.Minute
	left, ok := s.Left("secretsalt", []string{"sha", "sha256"}, timeout, begin.Add(time.Minute))
	require.True(t, ok)
	require.Equal(t, 9*time.Minute, left)
	for name, at := range map[string]time.Time{"expired": begin.Add(timeout)} {
		_, ok = s.Left("secretsalt", []string{"sha256"}, timeout, at)
		require.False(t, ok, name)
	}
	later, err := ParseSession(NewSession("jöhn", "secretsalt", "sha256", begin.Add(280*365*24*time.Hour)))
	require.NoError(t, err)
	_, ok = later.Left("secretsalt", []string{"sha256"}, timeout, begin)
	require.True(t, ok, "a time to come, such as one in milliseconds")
	_, ok = s.Left("othersalt", []string{"sha256"}, timeout, begin)
	require.False(t, ok)
	_, ok = s.Left("secretsalt", []string{"sha"}, timeout, begin)
	require.False(t, ok)
}

// The cookies that the recordings have of a real CouchDB with this secret and salt come out byte
// for byte.
func TestSessionAsCouchDBSignsIt(t *testing.T) {
	at := time.Unix(0x6B0102BD, 0)
	require.Equal(t, "Z29sZGVuLmNvb2tpZS51c2VyOjZCMDEwMkJEOhZsDYXMo_qLnvgrudzJaaw-Li6aLraBRMy61zgTQ6_J",
		NewSession("golden.cookie.user", "golden-secret"+"salt", "sha256", at))
	require.Equal(t, "Z29sZGVuLmNvb2tpZS51c2VyOjZCMDEwMkJEOpxeCFL2Rlm3S_3p5EuNO6BHLSLb",
		NewSession("golden.cookie.user", "golden-secret"+"salt", "sha", at))
}

func TestAlgorithms(t *testing.T) {
	require.Equal(t, []string{"sha256", "sha"}, Algorithms("sha256, sha"))
	require.Equal(t, []string{"sha256"}, Algorithms("nonsense"))
}

func BenchmarkSessions(b *testing.B) {
	now := time.Now()
	cookies := make([]string, 10000)
	for i := range cookies {
		cookies[i] = NewSession(fmt.Sprintf("user%d", i), "secret"+fmt.Sprint(i), "sha256", now)
	}
	algorithms := Algorithms("sha256, sha")
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		n := i % len(cookies)
		i++
		s, err := ParseSession(cookies[n])
		if err != nil {
			b.Fatal(err)
		}
		if _, ok := s.Left("secret"+fmt.Sprint(n), algorithms, time.Hour, now); !ok {
			b.Fatal("refused")
		}
	}
}
