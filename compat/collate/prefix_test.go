package collate_test

import (
	"bytes"
	"testing"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
)

// FuzzGroupLength checks that keys end where they end, that groups are those of the first elements, and that nothing
// panics.
func FuzzGroupLength(f *testing.F) {
	for _, s := range []string{`null`, `[]`, `[1,-2.5,"a\u0000b",[],{}]`, `{"a":[1e300,-1e-300],"b":{}}`, `12345678901234567890123`, `""`, `[[]]`} {
		f.Add([]byte(s), 1)
		f.Add([]byte(s), 2)
	}
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		collate.GroupLength(text, false, -1)
		collate.GroupLength(text, true, -1)
		v, err := ejson.Parse(text)
		if err != nil || n < 1 || n > 10 {
			return
		}
		for _, raw := range []bool{false, true} {
			appendKey := collate.AppendKey
			if raw {
				appendKey = collate.AppendRawKey
			}
			key := appendKey(nil, v)
			tail := append(bytes.Clone(key), 0x02, 'd', 0)
			if got := collate.GroupLength(tail, raw, -1); got != len(key) {
				t.Errorf("%s: length %d, want %d", text, got, len(key))
			}
			want := len(key)
			if v.Kind() == ejson.Array && v.Len() > 0 {
				want = 1
				i := 0
				for e := range v.Elements() {
					if i++; i <= n {
						want += len(appendKey(nil, e))
					}
				}
				if i < n {
					want = len(key)
				}
			}
			if got := collate.GroupLength(tail, raw, n); got != want {
				t.Errorf("%s: group %d, want %d", text, got, want)
			}
		}
	})
}
