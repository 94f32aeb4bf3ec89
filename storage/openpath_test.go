package storage

import (
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
)

func TestOpenPath(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		small := `{"z":1.0,"a":{"y":[10,{"k":"v"}],"e":{},"l":[]},"0":[null],"a\u0000":true}`
		put(t, db, "small", "", small)
		large := `{"filler":"` + strings.Repeat("x", 100_000) + `",` + small[1:]
		put(t, db, "large", "", large)
		put(t, db, "empty", "", `{}`)
		remove(t, db, "gone", put(t, db, "gone", "", `{"a":1}`))
		for _, id := range []string{"small", "large"} {
			for _, c := range []struct {
				path []any
				want string
			}{
				{[]any{"z"}, `1.0`},
				{[]any{"a"}, `{"y":[10,{"k":"v"}],"e":{},"l":[]}`},
				{[]any{"a", "y"}, `[10,{"k":"v"}]`},
				{[]any{"a", "y", 0}, `10`},
				{[]any{"a", "y", 1, "k"}, `"v"`},
				{[]any{"a", "y", 2}, ``},
				{[]any{"a", "e"}, `{}`},
				{[]any{"a", "l"}, `[]`},
				{[]any{"a", "l", 0}, ``},
				{[]any{"0", 0}, `null`},
				{[]any{"0", "0"}, ``},
				{[]any{"a\x00"}, `true`},
				{[]any{"z", "z"}, ``},
				{[]any{"none"}, ``},
			} {
				got, err := db.OpenPath(t.Context(), id, c.path...)
				must(t, err)
				if string(got) != c.want || (got == nil) != (c.want == "") {
					t.Errorf("%s %q: got %s, want %s", id, c.path, got, c.want)
				}
			}
		}
		for id, body := range map[string]string{"small": small, "large": large, "empty": `{}`} {
			got, err := db.OpenPath(t.Context(), id)
			must(t, err)
			want(t, id, string(got), string(canonical(t, body)))
		}
		_, err := db.OpenPath(t.Context(), "none", "a")
		wantError(t, err, compat.ErrMissing)
		_, err = db.OpenPath(t.Context(), "gone", "a")
		wantError(t, err, compat.ErrDeleted)
	})
}
