package users

import (
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/ejson"
)

func FuzzWithMember(f *testing.F) {
	f.Add(`{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}`, "joe")
	f.Add(`{"x":1,"admins":{"names":["joe","jim"]}}`, "jim")
	f.Fuzz(func(t *testing.T, text, user string) {
		v, err := ejson.Parse([]byte(text))
		if err != nil || v.Kind() != ejson.Object || !utf8.ValidString(user) { // ids of documents are UTF-8
			return
		}
		next, _ := withMember(v, user, true)
		added, err := ejson.Parse(next)
		require.NoError(t, err)
		if again, changed := withMember(added, user, true); changed && !slices.Equal(again, next) {
			t.Fatalf("%s, %s", next, again)
		}
		removed, _ := withMember(added, user, false)
		_, err = ejson.Parse(removed)
		require.NoError(t, err)
	})
}
