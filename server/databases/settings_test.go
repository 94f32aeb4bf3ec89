package databases_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// Limits are integers of any size in Erlang.
func TestLimitsBeyond64Bits(t *testing.T) {
	s := servertest.NewWithUsers(t, 1)
	for _, path := range []string{"/db/_revs_limit", "/db/_purged_infos_limit"} {
		for _, limit := range []string{"9223372036854775808", "1" + strings.Repeat("0", 5000), "9223372036854775807"} {
			require.Equal(t, 200, s.Do("PUT", path, limit).Code, limit)
			require.Equal(t, "9223372036854775807\n", s.Do("GET", path, "").Body.String())
		}
		for _, limit := range []string{"0", "-9223372036854775809", "1e30", "1.5", "null", `"7"`} {
			require.GreaterOrEqual(t, s.Do("PUT", path, limit).Code, 400, limit)
		}
	}
	require.Equal(t, 201, s.Do("PUT", "/db/a", "{}").Code)
}

// A large security object is shared by requests, none of which may write into it, and has a bound.
func TestLargeSecurity(t *testing.T) {
	s := servertest.NewWithUsers(t, 1)
	object := func(size int) string {
		var names strings.Builder
		for i := 0; names.Len() < size; i++ {
			fmt.Fprintf(&names, `"somebody-%08d",`, i)
		}
		return `{"members":{"names":[` + names.String() + `"joe"]}}`
	}
	large := object(500_000)
	require.Equal(t, 200, s.Do("PUT", "/db/_security", large).Code)
	for range 2 {
		require.Equal(t, large+"\n", s.Do("GET", "/db/_security", "").Body.String())
	}
	got := s.Do("PUT", "/db/_security", object(1<<20))
	require.Equal(t, 413, got.Code)
	require.JSONEq(t, `{"error":"document_too_large","reason":"_security"}`, got.Body.String())
}

// TestNumbersOfAnySize: a q that no database could have is refused, but of one that exists that
// comes first; n says nothing here.
func TestNumbersOfAnySize(t *testing.T) {
	s := servertest.NewWithUsers(t, 1)
	const exists = `{"error":"file_exists","reason":"The database could not be created, the file already exists."}` + "\n"
	const refused = `{"error":"bad_request","reason":"The ` + "`q`" + ` value should be a positive integer."}` + "\n"
	require.Equal(t, 201, s.Do("PUT", "/many?q=65535", "").Code)
	for _, q := range []string{"65536", "99999999999", "1" + strings.Repeat("0", 500)} {
		servertest.Expect(t, s.Do("PUT", "/db?q="+q, ""), 412, exists)
		servertest.Expect(t, s.Do("PUT", "/new?q="+q, ""), 400, refused)
		require.Equal(t, 404, s.Do("GET", "/new", "").Code)
	}
	for _, q := range []string{"x", "0", "-1", "", "1.5"} {
		servertest.Expect(t, s.Do("PUT", "/db?q="+q, ""), 400, refused)
	}
	require.Equal(t, 201, s.Do("PUT", "/new?n=99999999999", "").Code)
}
