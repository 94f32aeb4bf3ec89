package stats

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNames: what the server records is there, has a name that CouchDB shows, and shares it with
// nothing else.
func TestNames(t *testing.T) {
	s := New()
	require.Empty(t, s.unlisted, "not in names.tsv")
	seen := make(map[uintptr]string)
	for _, recorded := range []any{s.Recorded, s.workers} {
		v := reflect.ValueOf(recorded)
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).Kind() == reflect.Pointer {
				require.False(t, v.Field(i).IsNil(), "%s is not registered", name)
				require.Empty(t, seen[v.Field(i).Pointer()], "%s counts it, too", name)
				seen[v.Field(i).Pointer()] = name
			}
		}
	}
}
