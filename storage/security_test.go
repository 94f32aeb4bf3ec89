package storage

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// securityOf makes an object of at least size bytes that lets a user in.
func securityOf(user string, size int) []byte {
	var names strings.Builder
	for i := 0; names.Len() < size; i++ {
		fmt.Fprintf(&names, `"somebody-%08d",`, i)
	}
	return fmt.Appendf(nil, `{"members":{"names":[%s%q]}}`, names.String(), user)
}

// Large security objects are read and parsed once, not for each request of each user; and there is
// a largest one.
func TestLargeSecurityIsShared(t *testing.T) {
	kvtest.Long(t)
	s := openStore(t, memkv.New())
	db, other := s.DB("db"), s.DB("other")
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	must(t, s.Create(t.Context(), "other", CreateOptions{}))
	read := func(db *DB) ([]byte, *compat.Security) {
		object, err := db.Settings().Security(t.Context())
		must(t, err)
		rights, err := db.Settings().Rights(t.Context(), nil)
		must(t, err)
		require.False(t, rights.PerDocument)
		return object, rights.Security
	}
	large := securityOf("alice", 500_000)
	must(t, db.Settings().SetSecurity(t.Context(), large))
	must(t, other.Settings().SetSecurity(t.Context(), large))
	object, rights := read(db)
	require.Equal(t, large, object)
	require.NoError(t, rights.CheckMember("alice", nil))
	require.Error(t, rights.CheckMember("bob", nil))
	for _, db := range []*DB{db, other} {
		again, same := read(db)
		require.Same(t, unsafe.SliceData(object), unsafe.SliceData(again))
		require.Same(t, rights, same)
	}

	must(t, db.Settings().SetSecurity(t.Context(), securityOf("bob", 500_000)))
	_, rights = read(db)
	require.NoError(t, rights.CheckMember("bob", nil), "what was set counts at once")
	must(t, db.Settings().SetSecurity(t.Context(), []byte(`{"members":{"names":["carol"]}}`)))
	object, rights = read(db)
	require.Len(t, object, 31)
	require.Error(t, rights.CheckMember("bob", nil))

	err := db.Settings().SetSecurity(t.Context(), securityOf("dave", MaxSecurity))
	require.ErrorIs(t, err, compat.KindDocumentTooLarge)
	for i := range 12 {
		must(t, db.Settings().SetSecurity(t.Context(), securityOf(fmt.Sprint(i), MaxSecurity-1000)))
		read(db)
	}

	must(t, db.Settings().SetSecurity(t.Context(), large))
	object, _ = read(db)
	s.ForgetParsed()
	again, _ := read(db)
	require.Equal(t, large, again)
	require.NotSame(t, unsafe.SliceData(object), unsafe.SliceData(again))
}

// hashOf is some hash.
func hashOf(n int) (h securityHash) {
	h[0], h[1] = byte(n), byte(n>>8)
	return h
}

// TestSharedSecurity: large objects are read once, as long as there is room for them.
func TestSharedSecurity(t *testing.T) {
	c := newSecurities()
	reads := 0
	object := func(n int) func() ([]byte, error) {
		return func() ([]byte, error) {
			reads++
			return fmt.Appendf(nil, `{"members":{"names":["user %d"],"roles":[]},"pad":%q}`, n,
				strings.Repeat("x", 1<<20)), nil
		}
	}
	first, err := c.load(hashOf(0), object(0))
	require.NoError(t, err)
	require.NoError(t, first.rights.CheckMember("user 0", nil))
	again, err := c.load(hashOf(0), object(0))
	require.NoError(t, err)
	require.Same(t, first, again)
	require.Equal(t, 1, reads)

	for n := range 20 {
		_, err := c.load(hashOf(n), object(n))
		require.NoError(t, err)
	}
	require.Equal(t, 7, c.objects.Len())
	again, err = c.load(hashOf(0), object(0))
	require.NoError(t, err)
	require.NotSame(t, first, again, "forgotten for others")

	c.objects.Purge()
	failed := errors.New("failed")
	_, err = c.load(hashOf(1), func() ([]byte, error) { return nil, failed })
	require.ErrorIs(t, err, failed)
	require.Zero(t, c.objects.Len())
	broken, err := c.load(hashOf(2), func() ([]byte, error) { return []byte("no object"), nil })
	require.NoError(t, err)
	require.Error(t, broken.err)
}

// TestSecurityLargerThanAll: an object that is larger than what is kept is shared while no other
// comes.
func TestSecurityLargerThanAll(t *testing.T) {
	c := newSecurities()
	large := func() ([]byte, error) { return make([]byte, cachedSecurity+1), nil }
	first, err := c.load(hashOf(1), large)
	require.NoError(t, err)
	again, err := c.load(hashOf(1), large)
	require.NoError(t, err)
	require.Same(t, first, again)
}

func TestParseSecurity(t *testing.T) {
	rights, err := parseSecurity(nil)
	require.NoError(t, err)
	require.Error(t, rights.CheckMember("alice", nil), "admins only")
	rights, err = parseSecurity([]byte(`{}`))
	require.NoError(t, err)
	require.NoError(t, rights.CheckMember("alice", nil))
	_, err = parseSecurity([]byte(`[`))
	require.Error(t, err)
}
