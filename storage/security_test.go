package storage

import (
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

// Large security objects are read and parsed once, not for each request of each user; and there is a largest one.
func TestLargeSecurityIsShared(t *testing.T) {
	kvtest.Long(t)
	s := openStore(t, memkv.New())
	db, other := s.DB("db"), s.DB("other")
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	must(t, s.Create(t.Context(), "other", CreateOptions{}))
	read := func(db *DB) ([]byte, *compat.Security) {
		object, err := db.Security(t.Context())
		must(t, err)
		rights, err := db.Rights(t.Context())
		must(t, err)
		return object, rights
	}
	large := securityOf("alice", 500_000)
	must(t, db.SetSecurity(t.Context(), large))
	must(t, other.SetSecurity(t.Context(), large))
	object, rights := read(db)
	require.Equal(t, large, object)
	require.NoError(t, rights.CheckMember("alice", nil))
	require.Error(t, rights.CheckMember("bob", nil))
	for _, db := range []*DB{db, other} {
		again, same := read(db)
		require.Same(t, unsafe.SliceData(object), unsafe.SliceData(again))
		require.Same(t, rights, same)
	}

	must(t, db.SetSecurity(t.Context(), securityOf("bob", 500_000)))
	_, rights = read(db)
	require.NoError(t, rights.CheckMember("bob", nil), "what was set counts at once")
	must(t, db.SetSecurity(t.Context(), []byte(`{"members":{"names":["carol"]}}`)))
	object, rights = read(db)
	require.Len(t, object, 31)
	require.Error(t, rights.CheckMember("bob", nil))

	require.ErrorIs(t, db.SetSecurity(t.Context(), securityOf("dave", MaxSecurity)), compat.KindDocumentTooLarge)
	for i := range 12 {
		must(t, db.SetSecurity(t.Context(), securityOf(fmt.Sprint(i), MaxSecurity-1000)))
		read(db)
	}

	must(t, db.SetSecurity(t.Context(), large))
	object, _ = read(db)
	s.ForgetParsed()
	again, _ := read(db)
	require.Equal(t, large, again)
	require.NotSame(t, unsafe.SliceData(object), unsafe.SliceData(again))
}
